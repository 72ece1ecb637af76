package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/volume"
)

// began is when the containers of a node that measures are said to have started.
var began = time.Now().Add(-time.Minute)

// used is a quarter of a processor since then, and memory.
func used(memory uint64) (*statsapi.CPUStats, *statsapi.MemoryStats) {
	now := metav1.Now()
	cpu := uint64(now.Sub(began).Nanoseconds() / 4)
	return &statsapi.CPUStats{Time: now, UsageCoreNanoSeconds: &cpu}, &statsapi.MemoryStats{Time: now, WorkingSetBytes: &memory}
}

// ListPodStats has the Pods of the API server with what runs in them, and no figures, or those of default/metered.
func (h *host) ListPodStats(context.Context) ([]statsapi.PodStats, error) {
	if h.measures {
		container := statsapi.ContainerStats{Name: "app", StartTime: metav1.NewTime(began)}
		container.CPU, container.Memory = used(64 << 20)
		reference := statsapi.PodReference{Name: "metered", Namespace: "default"}
		return []statsapi.PodStats{{PodRef: reference, StartTime: container.StartTime, Containers: []statsapi.ContainerStats{container}}}, nil
	}
	var all []statsapi.PodStats
	for _, pod := range h.GetPods() {
		told := statsapi.PodStats{PodRef: statsapi.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}}
		if pod.Status.StartTime != nil {
			told.StartTime = *pod.Status.StartTime
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.State.Running != nil {
				told.Containers = append(told.Containers, statsapi.ContainerStats{Name: status.Name, StartTime: status.State.Running.StartedAt})
			}
		}
		if len(told.Containers) > 0 {
			all = append(all, told)
		}
	}
	return all, nil
}

func (h *host) ListPodStatsAndUpdateCPUNanoCoreUsage(ctx context.Context) ([]statsapi.PodStats, error) {
	return h.ListPodStats(ctx)
}

func (h *host) ListPodCPUAndMemoryStats(ctx context.Context) ([]statsapi.PodStats, error) {
	return h.ListPodStats(ctx)
}

func (h *host) GetCgroupStats(name string, _ bool) (*statsapi.ContainerStats, *statsapi.NetworkStats, error) {
	root, err := h.GetCgroupCPUAndMemoryStats(name, false)
	return root, nil, err
}

func (h *host) GetCgroupCPUAndMemoryStats(string, bool) (*statsapi.ContainerStats, error) {
	root := &statsapi.ContainerStats{StartTime: metav1.NewTime(began)}
	if h.measures {
		root.CPU, root.Memory = used(128 << 20)
	}
	return root, nil
}

func (h *host) GetNode(context.Context) (*v1.Node, error) {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: h.node}}, nil
}

func (*host) ImageFsStats(context.Context) (*statsapi.FsStats, *statsapi.FsStats, error) {
	return nil, nil, nil
}

func (*host) RootFsStats() (*statsapi.FsStats, error) { return nil, nil }

func (*host) RlimitStats() (*statsapi.RlimitStats, error) { return nil, nil }

func (*host) GetNodeConfig() cm.NodeConfig { return cm.NodeConfig{} }

func (*host) GetPodCgroupRoot() string { return "" }

func (*host) GetPodByCgroupfs(string) (*v1.Pod, bool) { return nil, false }

func (*host) ListVolumesForPod(types.UID) (map[string]volume.Volume, bool) { return nil, false }

func (*host) ListBlockVolumesForPod(types.UID) (map[string]volume.BlockVolume, bool) {
	return nil, false
}
