// SPDX-License-Identifier: Apache-2.0

//! Makes a bucket in a cloud for each App, and writes its name down. A crash between the two leaves a bucket that nobody knows of.

use std::sync::{Arc, Mutex, PoisonError};

use kubewright::prelude::*;
use kubewright::serde_json::{Value, json};

use crate::{App, AppStatus, Children, operator, set_status};

/// A fake of a cloud: buckets by name, with the owner that they were made for.
#[derive(Debug, Default)]
pub struct Cloud(Mutex<BTreeMap<String, String>>);

impl Cloud {
    fn buckets<T>(&self, work: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a bucket; the cloud chooses its name.
    pub fn create(&self, owner: &str) -> String {
        self.buckets(|buckets| {
            let name = format!("bucket-{}", buckets.len() + 1);
            buckets.insert(name.clone(), owner.to_owned());
            name
        })
    }

    /// Makes a bucket, unless its owner has one.
    pub fn ensure(&self, owner: &str) {
        if self.find(owner).is_none() {
            self.create(owner);
        }
    }

    /// Deletes the buckets of an owner.
    pub fn delete(&self, owner: &str) {
        self.buckets(|buckets| buckets.retain(|_, own| own != owner));
    }

    /// The bucket of an owner.
    pub fn find(&self, owner: &str) -> Option<String> {
        self.buckets(|buckets| {
            let found = buckets.iter().find(|(_, own)| *own == owner);
            found.map(|(name, _)| name.clone())
        })
    }

    /// What an exploration keeps, and compares after each step.
    pub fn snapshot(&self) -> Value {
        self.buckets(|buckets| json!(buckets))
    }

    /// Holds what it held then.
    pub fn restore(&self, snapshot: &Value) {
        let held = BTreeMap::deserialize(snapshot).unwrap_or_default();
        self.buckets(|buckets| *buckets = held);
    }
}

/// With the mistake.
pub fn broken(cloud: Arc<Cloud>) -> Operator {
    of_buckets(cloud, |cloud, app| cloud.create(&app.name_any()))
}

/// Looks for a bucket before it makes one.
pub fn fixed(cloud: Arc<Cloud>) -> Operator {
    of_buckets(cloud, |cloud, app| {
        let owner = app.name_any();
        cloud.find(&owner).unwrap_or_else(|| cloud.create(&owner))
    })
}

fn of_buckets(cloud: Arc<Cloud>, bucket: fn(&Cloud, &App) -> String) -> Operator {
    operator(Children::Watched, move |client, app| {
        let cloud = Arc::clone(&cloud);
        async move {
            let before = app.status.clone().unwrap_or_default();
            if before.service.is_none() {
                let service = Some(bucket(&cloud, &app));
                set_status(&client, &app, AppStatus { service, ..before }).await?;
            }
            Ok(Action::done())
        }
    })
}
