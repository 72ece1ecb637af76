// Package v1 has one kind for each thing that controller-gen can say about a kind, named after what it says.
// +groupName=capabilities.example.com
package v1
