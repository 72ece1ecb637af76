// Package v1 has the kind of kubebuilder's book.
// +groupName=batch.tutorial.kubebuilder.io
package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJob runs Jobs at times.
// +kubebuilder:subresource:status
type CronJob struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +required
	Spec CronJobSpec `json:"spec"`
	// +optional
	Status CronJobStatus `json:"status,omitzero"`
}

// CronJobSpec says what runs when.
type CronJobSpec struct {
	// Schedule is when, as cron writes it.
	// +kubebuilder:validation:MinLength=1
	// +required
	Schedule string `json:"schedule"`
	// StartingDeadlineSeconds is how late a Job may start.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// ConcurrencyPolicy is what happens when the one before still runs.
	// +optional
	// +kubebuilder:default=Allow
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// Suspend stops new Jobs.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// JobTemplate is what runs.
	// +required
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
	// SuccessfulJobsHistoryLimit is how many Jobs are kept that went well.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`
	// FailedJobsHistoryLimit is how many Jobs are kept that failed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
}

// ConcurrencyPolicy is what happens when the Job before still runs.
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

// CronJobStatus is what is known of the Jobs.
type CronJobStatus struct {
	// Active are the Jobs that run.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Active []corev1.ObjectReference `json:"active,omitempty"`
	// LastScheduleTime is when the last one was started.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
}
