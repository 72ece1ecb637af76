//! The kinds that the reference controllers have.

pub mod view {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

    /// MarkdownViewSpec is what is to be shown and how.
    #[kubewright::resource(
        group = "view.zoetrope.github.io",
        version = "v1",
        kind = "MarkdownView",
        namespaced,
        status = "MarkdownViewStatus",
        printcolumn(name = "REPLICAS", type_ = "integer", json_path = ".spec.replicas"),
        printcolumn(
            name = "AVAILABLE",
            type_ = "string",
            json_path = r#".status.conditions[?(@.type=="Available")].status"#
        ),
        doc = "MarkdownView shows documents."
    )]
    pub struct MarkdownViewSpec {
        /// Markdowns are the documents, by the name of their file.
        #[schema(min_properties = 1)]
        pub markdowns: BTreeMap<String, String>,
        /// Replicas is how many viewers there are.
        #[schema(default = 1)]
        pub replicas: i32,
        /// ViewerImage is what the viewers run.
        pub viewer_image: Option<String>,
    }

    /// MarkdownViewStatus is what is known of the viewers.
    #[kubewright::schema]
    pub struct MarkdownViewStatus {
        /// Conditions are what is known.
        #[schema(list_map_keys("type"))]
        pub conditions: Option<Vec<Condition>>,
    }
}

pub mod sample {
    /// FooSpec is the Deployment that is asked for.
    #[kubewright::resource(
        group = "samplecontroller.k8s.io",
        version = "v1alpha1",
        kind = "Foo",
        namespaced,
        status = "FooStatus",
        annotation("api-approved.kubernetes.io", "unapproved, experimental-only"),
        doc = "Foo asks for a Deployment."
    )]
    pub struct FooSpec {
        /// DeploymentName is its name.
        pub deployment_name: Option<String>,
        /// Replicas is how many Pods it has.
        #[schema(minimum = 1, maximum = 10)]
        pub replicas: Option<i32>,
    }

    /// FooStatus is what is known of the Deployment.
    #[kubewright::schema]
    pub struct FooStatus {
        /// AvailableReplicas is how many Pods are there.
        pub available_replicas: Option<i32>,
    }
}

pub mod bar {
    /// BarSpec is the Deployment that is asked for.
    #[kubewright::resource(
        group = "samplecontroller.ginoh.github.io",
        version = "v1alpha1",
        kind = "Bar",
        namespaced,
        status = "BarStatus",
        printcolumn(name = "Deployment", type_ = "string", json_path = ".spec.deploymentName"),
        printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
        printcolumn(name = "Available", type_ = "integer", json_path = ".status.availableReplicas"),
        printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
        doc = "Bar asks for a Deployment."
    )]
    pub struct BarSpec {
        /// DeploymentName is its name.
        #[schema(min_length = 1)]
        pub deployment_name: String,
        /// Replicas is how many Pods it has.
        #[schema(minimum = 0)]
        pub replicas: Option<i32>,
    }

    /// BarStatus is what is known of the Deployment.
    #[kubewright::schema]
    pub struct BarStatus {
        /// AvailableReplicas is how many Pods are there.
        pub available_replicas: i32,
    }
}

pub mod cron {
    use k8s_openapi::api::batch::v1::JobTemplateSpec;
    use k8s_openapi::api::core::v1::ObjectReference;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    /// CronJobSpec says what runs when.
    #[kubewright::resource(
        group = "batch.tutorial.kubebuilder.io",
        version = "v1",
        kind = "CronJob",
        namespaced,
        status = "CronJobStatus",
        doc = "CronJob runs Jobs at times."
    )]
    pub struct CronJobSpec {
        /// Schedule is when, as cron writes it.
        #[schema(min_length = 1)]
        pub schedule: String,
        /// StartingDeadlineSeconds is how late a Job may start.
        #[schema(minimum = 0)]
        pub starting_deadline_seconds: Option<i64>,
        /// ConcurrencyPolicy is what happens when the one before still runs.
        #[schema(default = ConcurrencyPolicy::Allow)]
        pub concurrency_policy: ConcurrencyPolicy,
        /// Suspend stops new Jobs.
        pub suspend: Option<bool>,
        /// JobTemplate is what runs.
        pub job_template: JobTemplateSpec,
        /// SuccessfulJobsHistoryLimit is how many Jobs are kept that went well.
        #[schema(minimum = 0)]
        pub successful_jobs_history_limit: Option<i32>,
        /// FailedJobsHistoryLimit is how many Jobs are kept that failed.
        #[schema(minimum = 0)]
        pub failed_jobs_history_limit: Option<i32>,
    }

    /// ConcurrencyPolicy is what happens when the Job before still runs.
    #[kubewright::schema]
    pub enum ConcurrencyPolicy {
        Allow,
        Forbid,
        Replace,
    }

    /// CronJobStatus is what is known of the Jobs.
    #[kubewright::schema]
    pub struct CronJobStatus {
        /// Active are the Jobs that run.
        #[schema(list_type = "atomic", min_items = 1, max_items = 10)]
        pub active: Option<Vec<ObjectReference>>,
        /// LastScheduleTime is when the last one was started.
        pub last_schedule_time: Option<Time>,
    }
}
