//! The plural of a kind where none is said: that of English, and where English has several, that of controller-gen.
//! So a kind that was generated from Go keeps its name in the cluster. The attribute that defines a kind and the command that
//! scaffolds one must come to the same plural: both use this crate.

/// The plural of a kind, in lower case.
///
/// ```
/// assert_eq!(kubewright_plural::plural("NetworkPolicy"), "networkpolicies");
/// assert_eq!(kubewright_plural::plural("Redis"), "redis");
/// ```
pub fn plural(kind: &str) -> String {
    let last = last_word(kind);
    let before = kind[..kind.len() - last.len()].to_lowercase();
    format!("{before}{}", plural_of_word(last).to_lowercase())
}

/// The last of the words a kind is put together from: `Index` of `SearchIndex`, all of `DNS`.
fn last_word(kind: &str) -> &str {
    let mut start = 0;
    let mut capital_before = true;
    for (place, letter) in kind.char_indices() {
        let capital = letter.is_uppercase();
        if capital && !capital_before {
            start = place;
        }
        capital_before = capital;
    }
    &kind[start..]
}

fn plural_of_word(word: &str) -> String {
    let lower = word.to_lowercase();
    if WORDS.iter().any(|(_, plural)| *plural == lower) {
        return lower;
    }
    if let Some((_, plural)) = WHOLE.iter().chain(&WORDS).find(|(singular, _)| *singular == lower) {
        return (*plural).to_owned();
    }
    // Words at the end of others come before the endings of words; what is plural already stays.
    for (singular, plural) in WORDS.iter().chain(&ENDINGS) {
        if word.ends_with(plural) {
            return lower;
        }
        if let Some(stem) = word.strip_suffix(singular) {
            return format!("{stem}{plural}");
        }
    }
    if word.ends_with('S') {
        return format!("{word}es"); // an abbreviation
    }
    if word.ends_with('s') { lower } else { format!("{word}s") }
}

/// Words that are irregular only when they stand alone.
const WHOLE: [(&str, &str); 8] = [
    ("ox", "oxen"),
    ("louse", "lice"),
    ("die", "dice"),
    ("axis", "axes"),
    ("alias", "aliases"),
    ("use", "uses"),
    ("toe", "toes"),
    ("id", "ids"),
];

/// Irregular words, alone and at the end of others. The first that fits decides: longer ones stand before those they end in.
const WORDS: [(&str, &str); 72] = [
    ("aircraft", "aircraft"),
    ("chassis", "chassis"),
    ("deer", "deer"),
    ("fish", "fish"),
    ("moose", "moose"),
    ("police", "police"),
    ("series", "series"),
    ("sheep", "sheep"),
    ("species", "species"),
    ("trout", "trout"),
    ("equipment", "equipment"),
    ("information", "information"),
    ("jeans", "jeans"),
    ("money", "money"),
    ("news", "news"),
    ("rice", "rice"),
    ("media", "media"),
    ("graffiti", "graffiti"),
    ("blues", "blues"),
    ("child", "children"),
    ("foot", "feet"),
    ("goose", "geese"),
    ("woman", "women"),
    ("human", "humans"),
    ("man", "men"),
    ("mouse", "mice"),
    ("tooth", "teeth"),
    ("person", "people"),
    ("bureau", "bureaus"),
    ("criterion", "criteria"),
    ("phenomenon", "phenomena"),
    ("lexicon", "lexica"),
    ("medium", "media"),
    ("stadium", "stadiums"),
    ("curriculum", "curriculums"),
    ("quota", "quotas"),
    ("alumnus", "alumni"),
    ("cactus", "cacti"),
    ("focus", "foci"),
    ("locus", "loci"),
    ("nucleus", "nuclei"),
    ("octopus", "octupuses"), // as controller-gen spells it
    ("radius", "radii"),
    ("syllabus", "syllabi"),
    ("corpus", "corpora"),
    ("genus", "genera"),
    ("vertebra", "vertebrae"),
    ("larva", "larvae"),
    ("apex", "apices"),
    ("codex", "codices"),
    ("index", "indices"),
    ("vertex", "vertices"),
    ("vortex", "vortices"),
    ("appendix", "appendices"),
    ("radix", "radices"),
    ("helix", "helices"),
    ("crisis", "crises"),
    ("ellipsis", "ellipses"),
    ("genesis", "geneses"),
    ("oasis", "oases"),
    ("thesis", "theses"),
    ("testis", "testes"),
    ("basis", "bases"),
    ("topaz", "topazes"),
    ("potato", "potatoes"),
    ("tomato", "tomatoes"),
    ("dwarf", "dwarfs"),
    ("hoof", "hoofs"),
    ("thief", "thieves"),
    ("agenda", "agendas"),
    ("formula", "formulas"),
    ("shoe", "shoes"),
];

/// Endings and what they become; the first that fits decides.
const ENDINGS: [(&str, &str); 76] = [
    ("tive", "tives"),
    ("hive", "hives"),
    ("move", "moves"),
    ("eaf", "eaves"),
    ("oaf", "oaves"),
    ("afe", "aves"),
    ("arf", "arves"),
    ("rfe", "rves"),
    ("rf", "rves"),
    ("lf", "lves"),
    ("fe", "ves"),
    ("movie", "movies"),
    ("cookie", "cookies"),
    ("ay", "ays"),
    ("ey", "eys"),
    ("oy", "oys"),
    ("quy", "quies"),
    ("uy", "uys"),
    ("y", "ies"),
    ("eau", "eaux"),
    ("bula", "bulae"),
    ("hedron", "hedra"),
    ("ium", "ia"),
    ("seum", "seums"),
    ("eum", "ea"),
    ("oum", "oa"),
    ("dum", "da"),
    ("elum", "ela"),
    ("ilum", "ila"),
    ("olum", "ola"),
    ("ulum", "ula"),
    ("llum", "lla"),
    ("ylum", "yla"),
    ("imum", "ima"),
    ("ernum", "erna"),
    ("gnum", "gna"),
    ("brum", "bra"),
    ("crum", "cra"),
    ("terum", "tera"),
    ("serum", "sera"),
    ("trum", "tra"),
    ("antum", "anta"),
    ("atum", "ata"),
    ("entum", "enta"),
    ("etum", "eta"),
    ("itum", "ita"),
    ("otum", "ota"),
    ("utum", "uta"),
    ("ctum", "cta"),
    ("ovum", "ova"),
    ("trix", "trices"),
    ("iasis", "iases"),
    ("mesis", "meses"),
    ("kinesis", "kineses"),
    ("resis", "reses"),
    ("gnosis", "gnoses"),
    ("opsis", "opses"),
    ("ysis", "yses"),
    ("ouse", "ouses"),
    ("ause", "auses"),
    ("us", "uses"),
    ("ch", "ches"),
    ("io", "ios"),
    ("sh", "shes"),
    ("ss", "sses"),
    ("ez", "ezzes"),
    ("iz", "izzes"),
    ("tz", "tzes"),
    ("zz", "zzes"),
    ("ano", "anos"),
    ("lo", "los"),
    ("to", "tos"),
    ("oo", "oos"),
    ("o", "oes"),
    ("x", "xes"),
    ("ache", "aches"),
];

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn kinds_have_the_plural_that_controller_gen_gives_them() {
        let recorded = [
            ("Shop", "shops"),
            ("MarkdownView", "markdownviews"),
            ("MetricAnalysis", "metricanalyses"),
            ("SearchIndex", "searchindices"),
            ("Quiz", "quizzes"),
            ("PodChild", "podchildren"),
            ("Leaf", "leaves"),
            ("Mouse", "mice"),
            ("Warehouse", "warehouses"),
            ("Hero", "heroes"),
            ("Photo", "photos"),
            ("Sheep", "sheep"),
            ("Series", "series"),
            ("Data", "data"),
            ("Metadata", "metadata"),
            ("Endpoints", "endpoints"),
            ("DNS", "dnses"),
            ("PodOS", "podoses"),
            ("ID", "ids"),
            ("VPC", "vpcs"),
            ("LUX", "luxs"),
            ("Status", "statuses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Box", "boxes"),
            ("Dish", "dishes"),
            ("Gateway", "gateways"),
            ("Ingress", "ingresses"),
            ("Kafka", "kafkas"),
            ("Redis", "redis"),
            ("Postgres", "postgres"),
            ("Prometheus", "prometheuses"),
            ("Matrix", "matrices"),
            ("Person", "people"),
            ("Human", "humans"),
            ("Foreman", "foremen"),
            ("Datum", "data"),
            ("Media", "media"),
            ("Quota", "quotas"),
            ("Schema", "schemas"),
            ("Axis", "axes"),
            ("Database", "databases"),
            ("Synthesis", "syntheses"),
            ("Knife", "knives"),
            ("Roof", "roofs"),
            ("Drive", "drives"),
            ("Archive", "archives"),
            ("Alias", "aliases"),
            ("Cause", "causes"),
            ("Cache", "caches"),
            ("Mesh", "meshes"),
            ("Class", "classes"),
            ("Canvas", "canvas"),
            ("Stadium", "stadiums"),
            ("Forum", "forums"),
            ("Zoo", "zoos"),
            ("Studio", "studios"),
            ("Piano", "pianos"),
            ("Guy", "guys"),
            ("Prefix", "prefixes"),
            ("Hertz", "hertzes"),
            ("Movie", "movies"),
            ("HTTPRoute", "httproutes"),
            ("CronJob", "cronjobs"),
            ("S3Bucket", "s3buckets"),
            ("Elasticsearch", "elasticsearches"),
            ("Dragonfly", "dragonflies"),
            ("Nginx", "nginxes"),
        ];
        for (kind, wanted) in recorded {
            assert_eq!(plural(kind), wanted, "{kind}");
        }
    }
}
