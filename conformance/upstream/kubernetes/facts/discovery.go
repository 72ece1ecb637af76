package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// servedVersion is a group-version with its discovery entries, in the server's order.
type servedVersion struct {
	schema.GroupVersion
	resources []metav1.APIResource
	// The resources whose deletion answers with the object instead of a Status, by name.
	returnsDeleted map[string]bool
}

func discover(server, tokenFile string) ([]servedVersion, error) {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, err
	}
	// The server is a throwaway on this machine with a certificate nobody else knows.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(path string, into any) error {
		request, err := http.NewRequest(http.MethodGet, server+path, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", path, response.Status)
		}
		return json.Unmarshal(body, into)
	}

	versions := []servedVersion{{GroupVersion: schema.GroupVersion{Version: "v1"}}}
	var groups metav1.APIGroupList
	if err := get("/apis", &groups); err != nil {
		return nil, err
	}
	for _, group := range groups.Groups {
		if group.Versions[0] != group.PreferredVersion {
			return nil, fmt.Errorf("group %s does not list its preferred version first", group.Name)
		}
		for _, version := range group.Versions {
			versions = append(versions, servedVersion{GroupVersion: schema.GroupVersion{Group: group.Name, Version: version.Version}})
		}
	}
	for i := range versions {
		path := "/api/v1"
		if versions[i].Group != "" {
			path = "/apis/" + versions[i].String()
		}
		var list metav1.APIResourceList
		if err := get(path, &list); err != nil {
			return nil, err
		}
		versions[i].resources = list.APIResources
		var document openAPI
		if err := get("/openapi/v3"+path, &document); err != nil {
			return nil, err
		}
		versions[i].returnsDeleted = document.returnsDeleted()
	}
	return versions, nil
}

// openAPI is as much of an OpenAPI document as says what a deletion answers.
type openAPI struct {
	Paths map[string]struct {
		Delete struct {
			Action    string `json:"x-kubernetes-action"`
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
	}
}

func (o openAPI) returnsDeleted() map[string]bool {
	found := map[string]bool{}
	for path, item := range o.Paths {
		answer := item.Delete.Responses["200"].Content["application/json"].Schema.Ref
		if item.Delete.Action == "delete" && !strings.HasSuffix(answer, ".Status") {
			parts := strings.Split(path, "/")
			found[parts[len(parts)-2]] = true
		}
	}
	return found
}

// kind of a discovery entry; entries name group and version only where they are not the resource's own.
func (v servedVersion) kindOf(resource metav1.APIResource) schema.GroupVersionKind {
	gvk := v.WithKind(resource.Kind)
	if resource.Version != "" {
		gvk.Group, gvk.Version = resource.Group, resource.Version
	}
	return gvk
}

const usualVerbs = "create,delete,deletecollection,get,list,patch,update,watch"

func printResources(versions []servedVersion) string {
	var text strings.Builder
	for _, version := range versions {
		fmt.Fprintln(&text, version.String())
		for _, resource := range version.resources {
			verbs := strings.Join(resource.Verbs, ",")
			if verbs == usualVerbs {
				verbs = "*"
			}
			kind := resource.Kind
			if resource.Version != "" {
				kind = schema.GroupVersion{Group: resource.Group, Version: resource.Version}.String() + "." + kind
			}
			if _, subresource, isSub := strings.Cut(resource.Name, "/"); isSub {
				fmt.Fprintf(&text, "  %s %s %s\n", subresource, kind, verbs)
				continue
			}
			scope := "cluster"
			if resource.Namespaced {
				scope = "namespaced"
			}
			fmt.Fprintf(&text, " %s %s %s %s %s", resource.Name, resource.SingularName, kind, scope, verbs)
			for _, list := range []struct {
				name   string
				values []string
			}{{"short", resource.ShortNames}, {"categories", resource.Categories}} {
				if len(list.values) > 0 {
					fmt.Fprintf(&text, " %s=%s", list.name, strings.Join(list.values, ","))
				}
			}
			if version.returnsDeleted[resource.Name] {
				fmt.Fprint(&text, " returns-deleted")
			}
			if resource.StorageVersionHash != "" {
				fmt.Fprintf(&text, " hash=%s", resource.StorageVersionHash)
			}
			fmt.Fprintln(&text)
		}
	}
	return text.String()
}
