//! A kind with two versions, converted by the operator in the test.

use kube::CustomResource;
use kubewright_runtime::conversion::{Conversion, Convert};
use kubewright_runtime::operator::Operator;
use kubewright_testing::TestEnv;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) mod v1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "example.com", version = "v1", kind = "Pond", namespaced)]
    pub(crate) struct PondSpec {
        pub(crate) litres: i64,
    }
}

pub(crate) mod v1beta1 {
    use super::{Convert, CustomResource, Deserialize, JsonSchema, Serialize, v1};

    #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "example.com",
        version = "v1beta1",
        kind = "Pond",
        namespaced,
        storage = false
    )]
    #[convert(hub = v1::PondSpec)]
    pub(crate) struct PondSpec {
        #[convert(rename = litres)]
        pub(crate) size: i64,
    }
}

#[kubewright_testing::test]
async fn versions_are_converted_into_each_other() {
    let operator = Operator::new("ponds")
        .resource::<v1::Pond>()
        .resource::<v1beta1::Pond>()
        .conversion(Conversion::hub::<v1::Pond>().spoke::<v1beta1::Pond>());
    let env = TestEnv::start(operator).await;
    env.apply("{apiVersion: example.com/v1beta1, kind: Pond, metadata: {name: carp}, spec: {size: 500}}")
        .await;
    assert_eq!(env.get::<v1::Pond>("carp").await.spec.litres, 500);
    assert_eq!(env.get::<v1beta1::Pond>("carp").await.spec.size, 500);
    let fork = env.try_fork().await;
    if let Ok(fork) = fork {
        assert_eq!(fork.get::<v1beta1::Pond>("carp").await.spec.size, 500);
    }
}
