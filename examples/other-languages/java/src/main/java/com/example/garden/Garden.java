package com.example.garden;

import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.List;

/** Plants, whose labels become a ConfigMap, and gardeners, who become a Deployment. */
@Group("example.com")
@Version("v1")
public class Garden extends CustomResource<Garden.Spec, Garden.Status> implements Namespaced {
  public static class Spec {
    public List<String> plants;
    /** The server's default is one. */
    public Integer gardeners;
  }

  public static class Status {
    public int readyGardeners;
  }
}
