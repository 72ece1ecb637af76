//! Each capability of controller-gen and its form in Rust, one test each; the reference kinds after them.

use kubewright::operator::Operator;

use super::kinds::{
    containers, definitions, derived, floats, modes, numbers, plurals, presence, reference, rules, shapes, texts,
    topology, types, values, versions,
};
use super::{compare, options, recorded, rendered};

/// What was recorded of kinds, each once.
pub(crate) const SETS: [&str; 6] = ["capabilities", "versions", "modes", "floats", "plurals", "reference"];

/// Where a kind's definition was recorded, and the kind.
pub(crate) struct Capability {
    pub(crate) set: &'static str,
    pub(crate) operator: Operator,
}

impl Capability {
    fn compare(&self) {
        let complaints = rendered(&self.operator, &options()).into_iter().map(|ours| {
            let kind = ours["spec"]["names"]["kind"].as_str().unwrap_or_default();
            compare::undecided_of_definitions(&recorded::definition(self.set, kind), &ours)
        });
        let complaints: String = complaints.collect();
        assert!(complaints.is_empty(), "\n{complaints}");
    }
}

macro_rules! capabilities {
    ($($test:ident: $set:literal [$($kind:ty),+ $(,)?];)+) => {
        $(
            #[test]
            fn $test() {
                Capability { set: $set, operator: Operator::new("suite")$(.resource::<$kind>())+ }.compare();
            }
        )+

        /// All of them.
        pub(crate) fn all() -> Vec<Capability> {
            vec![$(Capability { set: $set, operator: Operator::new("suite")$(.resource::<$kind>())+ }),+]
        }
    };
}

capabilities! {
    maximum_bounds_fields_types_and_items: "capabilities" [numbers::UpperBound];
    minimum_bounds_fields_types_and_items: "capabilities" [numbers::LowerBound];
    exclusive_maximum_excludes_the_bound: "capabilities" [numbers::OpenUpperBound];
    exclusive_minimum_excludes_the_bound: "capabilities" [numbers::OpenLowerBound];
    multiple_of_is_a_raster: "capabilities" [numbers::Multiple];
    max_length_bounds_texts: "capabilities" [texts::LongestText];
    min_length_bounds_texts: "capabilities" [texts::ShortestText];
    pattern_is_the_form_of_a_text: "capabilities" [texts::Patterned];
    format_is_the_format_of_a_text: "capabilities" [texts::Formatted];
    max_items_bounds_lists: "capabilities" [containers::LongestList];
    min_items_bounds_lists: "capabilities" [containers::ShortestList];
    unique_items_are_a_set: "capabilities" [containers::UniqueList];
    max_properties_bounds_maps: "capabilities" [containers::FullestMap];
    min_properties_bounds_maps_and_objects: "capabilities" [containers::EmptiestMap];
    enum_lists_the_values: "capabilities" [values::Choice];
    default_is_what_a_field_has_by_itself: "capabilities" [values::Defaulted];
    example_shows_a_value: "capabilities" [values::Exemplary];
    title_names_fields_and_types: "capabilities" [values::Titled];
    nullable_allows_null: "capabilities" [values::NullFriend];
    type_says_how_a_value_is_written: "capabilities" [values::Retyped];
    required_fields_must_be_there: "capabilities" [presence::Obligatory];
    optional_fields_may_be_left_out: "capabilities" [presence::Voluntary];
    at_most_one_of_excludes_fields: "capabilities" [presence::Exclusive];
    exactly_one_of_is_a_union: "capabilities" [presence::Union];
    at_least_one_of_wants_a_field: "capabilities" [presence::MoreThanNone];
    rules_in_cel_stand_on_fields_types_and_items: "capabilities" [rules::Ruled];
    immutable_fields_never_change: "capabilities" [rules::Constant];
    embedded_resources_are_whole_objects: "capabilities" [shapes::Matryoshka];
    preserve_unknown_fields_keeps_what_is_not_known: "capabilities" [shapes::Keeper];
    schemaless_fields_have_no_schema: "capabilities" [shapes::Shapeless];
    int_or_string_is_either: "capabilities" [shapes::EitherWay];
    list_type_says_who_owns_a_list: "capabilities" [topology::Ordered];
    list_map_key_tells_items_apart: "capabilities" [topology::Keyed];
    map_type_and_struct_type_say_who_owns_an_object: "capabilities" [topology::Owned];
    subresource_status_is_written_apart: "capabilities" [definitions::Observed];
    subresource_scale_says_where_the_numbers_are: "capabilities" [definitions::Scalable];
    print_columns_are_shown: "capabilities" [definitions::Tabular];
    resource_says_names_and_scope: "capabilities" [definitions::Christened];
    metadata_labels_and_annotates_the_definition: "capabilities" [definitions::Labelled];
    selectable_fields_can_be_selected_by: "capabilities" [definitions::Searchable];
    external_docs_are_elsewhere: "capabilities" [definitions::Referenced];
    scalars_have_types_and_formats: "capabilities" [types::Scalar];
    lists_and_maps_nest: "capabilities" [types::Container];
    kubernetes_own_types_are_known: "capabilities" [types::Wellknown];
    inline_fields_are_fields_of_the_object: "capabilities" [types::Inlined];
    names_in_json_are_told_and_hidden_fields_are_not: "capabilities" [types::Concealed];
    what_a_field_and_its_type_say_holds_both: "capabilities" [values::Twofold];
    versions_are_stored_served_deprecated_and_skipped: "versions" [
        versions::v1::Evolving,
        versions::v1beta1::Evolving,
        versions::v1alpha1::Evolving,
    ];
    a_package_of_optional_fields: "modes" [modes::optional::Lenient];
    a_package_of_required_fields: "modes" [modes::required::Demanding];
    dangerous_types_are_numbers: "floats" [floats::Measurement];
    plurals_are_those_of_the_language: "plurals" [
        plurals::Policy,
        plurals::Box,
        plurals::Gateway,
        plurals::Index,
        plurals::Analysis,
        plurals::Status,
        plurals::Child,
        plurals::Quiz,
        plurals::Leaf,
        plurals::Bus,
        plurals::Proxy,
        plurals::Dish,
        plurals::Hero,
        plurals::Mouse,
        plurals::Endpoints,
        plurals::Data,
        plurals::Ingress,
        plurals::Kafka,
        plurals::Series,
        plurals::Sheep,
        plurals::DNS,
        plurals::Photo,
    ];
    the_markdown_view_of_the_training: "reference" [reference::view::MarkdownView];
    the_foo_of_kubernetes_sample: "reference" [reference::sample::Foo];
    the_markdown_view_with_kubes_derive: "reference" [derived::MarkdownView];
    the_foo_with_kubes_derive: "reference" [derived::Foo];
    the_bar_of_the_memos: "reference" [reference::bar::Bar];
    the_cron_job_of_the_book: "reference" [reference::cron::CronJob];
}
