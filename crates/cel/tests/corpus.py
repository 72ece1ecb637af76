"""What record.py asks the server: a schema, rules on it, objects, transitions and schemas with rules in other places."""

STRING = {"type": "string"}
SPEC = {
    "type": "object",
    "properties": {
        "s": {"type": "string", "maxLength": 100},
        "long": STRING,
        "short": {"type": "string", "maxLength": 10},
        "i": {"type": "integer"},
        "j": {"type": "integer"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
        "ios": {"x-kubernetes-int-or-string": True, "maxLength": 20},
        "dt": {"type": "string", "format": "date-time"},
        "date": {"type": "string", "format": "date"},
        "dur": {"type": "string", "format": "duration"},
        "by": {"type": "string", "format": "byte", "maxLength": 100},
        "list": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 10},
        "ulist": {"type": "array", "items": STRING},
        "ints": {"type": "array", "items": {"type": "integer"}, "maxItems": 20},
        "set": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 10, "x-kubernetes-list-type": "set"},
        "set2": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 10, "x-kubernetes-list-type": "set"},
        "ml": {
            "type": "array", "maxItems": 10, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 20}, "v": {"type": "integer"}}},
        },
        "objs": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"a": {"type": "integer"}, "t": {"type": "string", "maxLength": 20}}}},
        "m": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 20}, "maxProperties": 5},
        "um": {"type": "object", "additionalProperties": STRING},
        "mi": {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 5},
        "nested": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string", "maxLength": 20}, "deep": {"type": "object", "properties": {"z": {"type": "integer"}}}}},
        "my-dash": {"type": "integer"},
        "my.dot": {"type": "integer"},
        "my/slash": {"type": "integer"},
        "namespace": {"type": "string", "maxLength": 20},
        "under__score": {"type": "integer"},
        "my_field": {"type": "integer"},
        "en": {"type": "string", "enum": ["one", "two", "three"]},
        "nul": {"type": "string", "nullable": True, "maxLength": 20},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "emb": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
    },
}

GOOD = """
self.i > 0
self.i >= self.j
self.i <= self.j
self.i == self.j
self.i != self.j
self.i + self.j == 3
self.i - self.j < 2
self.i * self.j > 100
self.i / self.j == 1
self.i % self.j == 1
-self.i < 0
!self.b
self.b || self.i > 1
self.b && self.i > 1
self.b ? self.i == 1 : self.j == 2
has(self.i)
!has(self.nul)
has(self.nested) && has(self.nested.x)
has(self.nested.deep.z)
self.nested.deep.z > 1
self.nested.x == 1
self.nested == self.nested
self.s == 'abc'
self.s != "abc"
self.s < 'm'
self.s.startsWith('a')
self.s.endsWith('c')
self.s.contains('b')
self.s.matches('^[a-z]+$')
self.s.matches(r'^\\d+$')
matches(self.s, 'a.c')
size(self.s) > 2
self.s.size() == 3
self.s + self.short == 'abcxy'
self.s.upperAscii() == 'ABC'
self.s.lowerAscii() == 'abc'
self.s.trim() == 'abc'
self.s.replace('b', 'x') == 'axc'
self.s.replace('b', 'x', 1) == 'axc'
self.s.split('b').size() == 2
self.s.split('b')[0] == 'a'
self.s.split('', 2)[1] == 'bc'
self.s.substring(1) == 'bc'
self.s.substring(0, 2) == 'ab'
self.s.substring(5) == ''
self.s.charAt(1) == 'b'
self.s.charAt(9) == ''
self.s.indexOf('c') == 2
self.s.lastIndexOf('a') == 0
self.s.indexOf('c', 1) == 2
self.s.find('[a-z]') == 'a'
self.s.findAll('[a-z]').size() == 3
self.s.findAll('[a-z]', 2) == ['a', 'b']
strings.quote(self.s) == '"abc"'
'%s is %d'.format([self.s, self.i]) == 'abc is 1'
'%.2f %x %o %b %e'.format([self.n, self.i, self.i, self.b, self.n]) != ''
self.list.all(x, x.size() < 5)
self.list.exists(x, x == 'a')
self.list.exists_one(x, x == 'a')
self.list.filter(x, x != 'a').size() == 1
self.list.map(x, x + 'z')[0] == 'az'
self.list.map(x, x != 'a', x + 'z') == ['bz']
self.list.all(i, x, i >= 0 && x != '')
self.list.exists(i, x, i == 1 && x == 'b')
self.list.existsOne(i, x, x == 'b')
self.list.transformList(i, x, x + string(i)) == ['a0', 'b1']
self.m.transformMap(k, v, v + '!')['one'] == '1!'
self.m.transformMapEntry(k, v, {v: k}).size() == 2
self.m.all(k, k.size() > 2)
self.m.exists(k, self.m[k] == '1')
self.m.all(k, v, k != v)
'one' in self.m
'a' in self.list
!('zz' in self.list)
self.m['one'] == '1'
self.m.one == '1'
self.list[0] == 'a'
self.list[7] == 'a'
self.list.isSorted()
self.ints.sum() == 6
self.ints.max() == 3
self.ints.min() == 1
self.ints.isSorted()
self.list.indexOf('b') == 1
self.list.lastIndexOf('b') == 1
self.list.join(',') == 'a,b'
self.list.join() == 'ab'
self.ints.sort() == [1, 2, 3]
self.ints.sortBy(x, -x) == [3, 2, 1]
self.ints.slice(0, 2) == [1, 2]
self.ints.slice(0, 9) == [1, 2]
self.ints.reverse() == [3, 2, 1]
self.ints.distinct().size() == 3
self.list.first().orValue('') == 'a'
self.list.last().value() == 'b'
lists.range(3) == [0, 1, 2]
[[1], [2, 3]].flatten() == [1, 2, 3]
self.set == self.set2
self.set + self.set2 == self.set
self.set == ['b', 'a']
self.ml == self.ml
(self.ml + self.ml).size() == 2
self.ml.exists(e, e.k == 'a' && e.v == 1)
self.ml.all(e, has(e.v))
self.objs[0] == self.objs[1]
self.objs.all(o, o.a > 0)
self.objs.map(o, o.a).sum() > 1
sets.contains(self.list, ['a'])
sets.intersects(self.list, self.set)
sets.equivalent(self.list, ['b', 'a', 'a'])
self.my__dash__dash == 1 || self.my__dash__dash > 0
self.my__dot__dot == 2
self.my__slash__slash == 3
self.__namespace__ == 'ns'
self.under__underscores__score == 4
self.my_field == 5
self.en == 'one'
self.en in ['one', 'two']
self.nul == null
has(self.nul) && self.nul == 'x'
self.ios == 5
self.ios == '50%'
type(self.ios) == int
type(self.ios) == string ? self.ios.endsWith('%') : self.ios > 3
self.ios > 3
self.ios + 1 == 6
string(self.i) == '1'
int(self.s) == 1
int('12') == 12
double(self.i) == 1.0
self.n > 1.0
self.n > self.i
self.i < 2.5
uint(self.i) == 1u
bool('true')
bytes(self.s) == b'abc'
self.by == b'hello'
string(self.by) == 'hello'
size(self.by) == 5
self.dt > timestamp('2020-01-01T00:00:00Z')
self.dt == timestamp('2024-02-29T10:20:30Z')
self.dt.getFullYear() == 2024
self.dt.getMonth() == 1
self.dt.getDate() == 29
self.dt.getDayOfMonth() == 28
self.dt.getDayOfWeek() == 4
self.dt.getDayOfYear() == 59
self.dt.getHours() == 10
self.dt.getHours('-08:00') == 2
self.dt.getMinutes() == 20
self.dt.getSeconds() == 30
self.dt.getMilliseconds() == 0
self.date < self.dt
self.dur == duration('90s')
self.dur > duration('1m') && self.dur.getSeconds() == 90
self.dt + self.dur > self.dt
self.dt - self.dt == duration('0s')
string(self.dur) == '90s'
string(self.dt) == '2024-02-29T10:20:30Z'
self.?s.orValue('none') == 'abc'
self.?nested.?x.orValue(0) == 1
self.?nested.hasValue()
self.list[?0].orValue('') == 'a'
self.list[?5].hasValue()
self.m[?'one'].orValue('') == '1'
optional.of(self.i).optMap(x, x + 1).orValue(0) == 2
optional.of(self.i).optFlatMap(x, optional.none()).orValue(7) == 7
optional.ofNonZeroValue(self.s).hasValue()
optional.none().value() == 1
[?self.?s, 'x'].size() == 2
{?'a': self.?s}.size() == 1
self.?s.or(optional.of('z')).value() == 'abc'
quantity(self.short).isGreaterThan(quantity('1'))
quantity('1Gi').isLessThan(quantity('2Gi'))
quantity('1500m').asApproximateFloat() == 1.5
quantity('2k').asInteger() == 2000
quantity('1.5').isInteger()
quantity('50M').add(quantity('20M')) == quantity('70M')
quantity('50M').sub(20) == quantity('49999980')
sign(quantity('-3')) == -1
quantity('200M').compareTo(quantity('0.2G')) == 0
isQuantity(self.s)
isQuantity('1.3Gi')
ip('192.168.0.1') == ip('192.168.0.1')
ip('::1').isLoopback()
ip('192.168.0.1').family() == 4
ip(self.s).isLoopback()
isIP('10.0.0.1')
isIP(self.s)
ip.isCanonical('2001:db8::abcd')
ip('224.0.0.1').isLinkLocalMulticast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast() && ip('0.0.0.0').isUnspecified()
cidr('192.168.0.0/24').containsIP('192.168.0.7')
cidr('192.168.0.0/24').containsIP(ip('10.0.0.1'))
cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')
cidr('192.168.0.0/16').containsCIDR(cidr('192.168.0.0/15'))
cidr('192.168.0.5/24').masked() == cidr('192.168.0.0/24')
cidr('192.168.0.0/24').prefixLength() == 24 && string(cidr('192.168.0.0/24').ip()) == '192.168.0.0'
isCIDR('10.0.0.0/8')
isCIDR(self.s)
cidr(self.s).prefixLength() == 1
url('https://example.com:80/a?b=c#d').getHost() == 'example.com:80'
url('https://example.com:80/a%20b?b=c').getEscapedPath() == '/a%20b'
url('https://example.com:80/').getPort() == '80' && url('https://[::1]:80/').getHostname() == '::1'
url('https://e.com/?a=1&a=2').getQuery()['a'] == ['1', '2']
url('https://e.com/').getScheme() == 'https'
isURL('/absolute')
isURL(self.s)
url(self.s).getHost() == ''
semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3
semver('1.2.3-alpha').isLessThan(semver('1.2.3'))
semver('v1.2', true).compareTo(semver('1.2.0')) == 0
isSemver('1.2')
isSemver('v1', true)
semver(self.s).major() == 1
!format.dns1123Label().validate('my-name').hasValue()
format.dns1123Label().validate('My.Name').value() == ['x']
format.named('uuid').value().validate(self.s).hasValue()
format.named('nope').hasValue()
format.dns1123Subdomain().validate('a.b') == optional.none()
format.qualifiedName().validate('a/b/c').value()[0].contains('qualified')
self.free == self.free
self.emb.kind == 'Pod'
self.emb.metadata.name == 'n'
self.emb.apiVersion.startsWith('v')
self.i == 1 || self.i / 0 == 1
self.i / 0 == 1 || self.i == 1
self.i / 0 == 1
self.i % 0 == 1 && false
9223372036854775807 + self.i > 0
-9223372036854775808 < self.i
0x10 == 16
1e3 == 1000.0
.5 < 1.0
'a\\nb'.size() == 3
'''triple''' == 'triple'
r'raw\\n'.size() == 5
b'\\x00\\xff'.size() == 2
'\\u00e9'.size() == 1
{'a': 1}.a == 1
{'a': 1, 'b': 2}.size() == 2
{1: 'a'}[1] == 'a'
dyn(self.i) == dyn('a')
type(self.s) == string && type(self.i) == int && type(self.list) == list && type(self.m) == map
type(1.0) == double && type(1u) == uint && type(null) == null_type && type(true) == bool && type(b'') == bytes
oldSelf.i == self.i
self.i >= oldSelf.i
oldSelf.s == self.s && oldSelf.list == self.list
self.list.all(x, x in oldSelf.list)
oldSelf.set == self.set
oldSelf.ml == self.ml
oldSelf == self
self.mi.all(k, self.mi[k] > 0)
self.mi['zzz'] == 1
self.list.map(x, {'k': x}).exists(e, e.k == 'b')
self.ints.map(x, x * 2).filter(x, x > 2).exists(x, x == 6)
self.ints.exists(x, x / 0 == 1) || self.i == 1
self.ints.all(x, 6 / (x - 2) > 0)
// a comment
self.i == 1 // comment
self.nested.y.size() < 5
self.long.size() < 10
self.long.startsWith('a')
""".strip().split("\n")

BAD = """
self.nope
self.nope == 1
self.i
self.i + 1
'text'
self.i + 'a'
self.i + self.s
self.s + 1
self.s - 'a'
self.i == 'a'
self.s == 1
self.n == 1
self.n + 1 > 2.0
self.b > 1
self.b + 1 == 2
!self.i
-self.s == ''
self.b && self.i
self.i || self.b
self.i && self.s
self.b ? 1 : 'a'
self.i ? true : false
self.list + [1] == []
self.list == [1, 2]
[1, 'a'].size() == 2
[1, 2u, 3.0].size() == 3
{'a': 1, 'b': 'c'}.size() == 2
{'a': 1, 2: 3}.size() == 2
self.list.all(x, x > 1)
self.list.all(x, x)
self.list.all(1, true)
self.list.all(x.y, true)
self.list.map(1, 2) == []
self.list.filter(x, x) == []
self.list.exists(i, i, true)
self.i.all(x, true)
self.s.exists(x, true)
self.nested.all(x, true)
self.nested.nope == 1
self.nested.deep.nope == 1
self.objs.all(o, o.nope > 1)
self.m.all(k, self.m[k] > 1)
self.m[1] == 'a'
self.list['a'] == 'a'
self.i.foo == 1
self.s.foo == 'a'
self.i[0] == 1
undeclared == 1
undeclared.x.y == 1
self.foo()
foo(self.i)
self.s.foo()
self.s.startsWith(1)
self.s.startsWith()
self.s.startsWith('a', 'b')
startsWith(self.s, 'a')
size(self.i) == 1
size() == 1
self.i.size() == 1
self.s.size == 1
has(self)
has(self.i, self.j)
has(self.nope)
has(self.list[0])
has('a')
int(self.b) == 1
bool(self.i)
duration(self.i) == 1
duration('nope') == self.dur
duration('1y') == self.dur
timestamp('nope') == self.dt
timestamp('2020-13-01T00:00:00Z') == self.dt
self.s.matches('[')
self.s.matches('(?=a)')
self.s.matches('a{2,1}')
self.dt == '2020'
self.dt + self.dt == self.dt
self.dur * 2 == self.dur
self.by == 'hello'
self.dt.getHours(1) == 1
self.?nope.orValue(1) == 1
self.?i + 1 == 2
self.?i.orValue('a') == 1
self.i.?x.hasValue()
optional.of(1).orValue('a') == 1
self.i.optMap(x, x)
optional.of(1).optMap(1, x).hasValue()
[?self.i].size() == 1
{?'a': self.i}.size() == 1
quantity(1).isInteger()
quantity('1') == 1
quantity('1') > quantity('2')
quantity('1').foo == 1
ip('1.2.3.4').isGreaterThan(ip('1.2.3.5'))
ip(1).family() == 4
cidr('10.0.0.0/8').containsIP(1)
url('https://e.com').foo()
semver(1).major() == 1
format.nope().validate('a').hasValue()
self.s.format(1) == ''
sets.contains(self.list, [1])
sets.nope(self.list, [])
lists.range('a') == []
self.ints.sum() == 'a'
self.objs.sum() == 1
self.list.sum() == 'a'
self.nested < self.nested
self.list < self.list
self.m + self.m == self.m
self.en == 1
self.my-dash == 1
self.my.dot == 2
self.namespace == 'ns'
self.under__score == 4
self.unknown__dash__x == 1
self.anything == 1
self.free.x == 1
self.emb.spec == 1
self.emb.metadata.labels == 1
oldSelf.nope == 1
cel.bind(x, self.i, x > 1)
math.greatest(1, 2) == 2
math.abs(-1) == 1
base64.encode(b'a') == 'YQ=='
self.ints.existsOne(x, x == 1)
'abc'.reverse() == 'cba'
self.i = 1
self.i == 
self.i == = 1
== 1
self.
self..i
self.i.
self.i +
(self.i == 1
self.i == 1)
((self.i)
[1, 2
[1, 2]]
{'a': 1
{'a' 1}
{'a': }
{a: 1
self.list[0
self.list[
self.list[]
self.list.all(x
self.list.all(x,
self.list.all(x, x == 'a'
self.s == 'abc
self.s == "abc
self.s == 'abc"
self.i & 1
self.i && 
self.i & self.j
self.i | self.j
self.i || || self.j
self.i && && self.j
self.i ? 1
self.i ? 1 :
self.i ? : 1
self.i !
!
-
?
:
.
,
)
]
}
@
#
self.i @ 1
self.i $ 1
self.i ; self.j
self.i == 1;
self.i === 1
self.i <> 1
self.i => 1
self.i ** 2 == 1
self.i ++ 1
self.i -- 1 == 2
self.i in
in self.list
self.i == 1 and self.j == 2
self.i == 1 or self.j == 2
not self.b
if self.b
self.b then 1 else 2
for == 1
if == 1
self.if == 1
while(1)
true.x
self.true == 1
self.null
null.x == 1
self.in == 1
1.foo == 1
1..2
1a == 1
0x == 1
1e == 1
99999999999999999999 == 1
99999999999999999999u == 1u
1e999 == 1.0
-9223372036854775809 == 1
'\\q' == 'a'
'\\u12' == 'a'
'\\ud800' == 'a'
b'\\u00e9' == b'a'
`self` == 1
self.`my-dash` == 1
Foo{} == Foo{}
Foo{a: 1} == Foo{a: 1}
int{} == 1
self{} == 1
{1.5: 'a'}.size() == 1
{null: 'a'}.size() == 1
self.s.matches(self.i)
type(self.i) == 'int'
dyn(self.nope) == 1
self.list.map(x, y) == []
self.ulist.all(x, self.ulist.all(y, x == y))
self.ulist.all(x, self.ulist.all(y, self.ulist.all(z, x == y && y == z)))
self.ulist.all(x, self.ulist.exists_one(y, x == y))
self.um.all(k, self.um.all(l, self.um[k] == self.um[l]))
self.ulist.all(x, x.matches('^[a-z]+$'))
self.ulist.map(x, x + x).all(y, y.contains('abc'))
self.long.matches('^[a-z0-9]+([-.][a-z0-9]+)*$')
self.long.contains(self.long)
self.long.split(',').all(x, x.split('.').all(y, y != ''))
self.ulist.exists(x, x.startsWith(self.long))
self.long.replace('a', 'bb').replace('b', 'cc').matches('x')
self.ulist.isSorted()
self.ulist.join(',').contains('a')
self.ulist == self.ulist
self.long == self.long
self.ulist.all(x, x in self.ulist)
self.long.upperAscii().lowerAscii().findAll('[a-z]+').size() > 2
self.ulist.filter(x, x.size() > 2).map(x, x.size()).sum() > 10
quantity(self.long).isGreaterThan(quantity('1'))
self.ulist.all(x, isIP(x))
self.ulist.all(x, cidr('10.0.0.0/8').containsIP(x))
self.ulist.all(x, url(x).getHost() == 'a')
format.dns1123Label().validate(self.long).hasValue()
self.ulist.map(x, {'k': x, 'v': self.long}).all(e, e.k == e.v)
self.long.size() + self.ulist.size() > 1
self.um.all(k, k.size() < 10 && self.um[k].size() < 10)
self.ulist.transformList(i, x, x + self.long).all(y, y.size() > 1)
self.ulist.sortBy(x, x.size())[0] == 'a'
""".strip("\n").split("\n")

FULL = [
    {"rule": "self.i > 5", "message": "i must be large"},
    {"rule": "self.i > 5", "message": "  spaced  "},
    {"rule": "self.i > 5", "message": " "},
    {"rule": "self.i > 5", "message": "two\nlines"},
    {"rule": "self.i\n> 5"},
    {"rule": "self.i\n> 5", "message": "ok"},
    {"rule": ""},
    {"rule": "  "},
    {"rule": "self.i > 5", "messageExpression": "'i is ' + string(self.i)"},
    {"rule": "self.i > 5", "messageExpression": "self.i"},
    {"rule": "self.i > 5", "messageExpression": "self.nope"},
    {"rule": "self.i > 5", "messageExpression": " "},
    {"rule": "self.i > 5", "messageExpression": "''"},
    {"rule": "self.i > 5", "messageExpression": "'a\\nb'", "message": "fallback"},
    {"rule": "self.i > 5", "messageExpression": "string(1/0)", "message": "fallback"},
    {"rule": "self.i > 5", "messageExpression": "self.long + self.long + self.long"},
    {"rule": "self.i > 5", "reason": "FieldValueForbidden"},
    {"rule": "self.i > 5", "reason": "FieldValueRequired", "message": "need more"},
    {"rule": "self.i > 5", "reason": "FieldValueDuplicate"},
    {"rule": "self.i > 5", "reason": "Nope"},
    {"rule": "self.i > 5", "fieldPath": ".i"},
    {"rule": "self.i > 5", "fieldPath": ".nested.x"},
    {"rule": "self.i > 5", "fieldPath": ".m['one']"},
    {"rule": "self.i > 5", "fieldPath": ".nope"},
    {"rule": "self.i > 5", "fieldPath": "i"},
    {"rule": "self.i > 5", "fieldPath": " "},
    {"rule": "self.i > 5", "optionalOldSelf": True},
    {"rule": "oldSelf.hasValue() ? oldSelf.value().i == self.i : self.i > 0", "optionalOldSelf": True},
    {"rule": "oldSelf.i == self.i", "optionalOldSelf": True},
    {"rule": "oldSelf.?i.orValue(1) == self.i", "optionalOldSelf": True},
]

MORE = [
    "int('abc') == 1",
    "double('x') == 1.0",
    "string(b'\\xff') == 'a'",
    "bool('maybe')",
    "uint('-1') == 1u",
    "bytes('a') == b'a'",
    'type(1) == int',
    'dyn(1) == 1',
    'timestamp(253402300800) == timestamp(0)',
    'int(1e30) == 1',
    'uint(-1) == 1u',
    '[1,2,3][5] == 1',
    "net.IP == type(ip('::1'))",
    "kubernetes.Quantity == type(quantity('1'))",
    'type(self.list) == list',
    'google.protobuf.Timestamp == type(self.dt)',
    'optional_type == type(optional.of(1))',
    'self.i in [1,2]',
    "self.s in ['a', 'b', self.short]",
    "'x' in []",
    "self.m in [{'a':'b'}]",
    "self.?m['one'].hasValue()",
    "self.?list[0].orValue('') == 'a'",
    '[1,2].map(x, [3].map(y, x+y)[0]) == [4,5]',
    'self.list.map(x, self.m[?x]).size() == 2',
    'self == self',
    'self.emb == self.emb',
    'self.objs == self.objs',
    'self.nested.?deep.?z == optional.of(2)',
    'self.list + self.set == self.list',
    '[self.nested] == [self.nested]',
    "{'a': self.nested}.a.x == 1",
    "self.m == {'one':'1','two':'2'}",
    "self.list == ['a','b']",
    "self.ml[0].k == 'a'",
    'self.m.map(k, self.m[k]).size() == 2',
    'self.free == self.free && has(self.free)',
    "duration('1h') + duration('30m') == duration('90m')",
    "timestamp('2020-01-01T00:00:00Z') - duration('1h') < self.dt",
    "'a'.matches('a' + 'b')",
    'self.short.matches(self.s)',
    'self.i.foo().bar',
    "authorizer.group('x')",
    'request.x',
    'variables.y',
    'params',
    'object',
]

RULES = GOOD + BAD + MORE + FULL

EVERYTHING = {
    "s": "abc", "short": "xy", "i": 1, "j": 2, "n": 1.5, "b": True, "ios": 5,
    "dt": "2024-02-29T10:20:30Z", "date": "2024-02-29", "dur": "90s", "by": "aGVsbG8=",
    "list": ["a", "b"], "ulist": ["x"], "ints": [1, 2, 3], "set": ["a", "b"], "set2": ["b", "a"],
    "ml": [{"k": "a", "v": 1}, {"k": "b", "v": 2}], "objs": [{"a": 1, "t": "x"}, {"a": 1, "t": "x"}],
    "m": {"one": "1", "two": "2"}, "um": {"k": "v"}, "mi": {"a": 1},
    "nested": {"x": 1, "y": "yy", "deep": {"z": 2}}, "my-dash": 1, "my.dot": 2, "my/slash": 3, "namespace": "ns",
    "under__score": 4, "my_field": 5, "en": "one", "nul": None, "long": "long text",
    "free": {"a": [1]}, "emb": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n"}},
}
OTHER = {
    "s": "1", "short": "5", "i": 7, "j": 0, "n": 3, "b": False, "ios": "50%",
    "dt": "1999-12-31T23:59:59.5+01:00", "date": "2000-01-01", "dur": "1h0m0.5s", "by": "AA==",
    "list": ["b", "a", "b"], "ints": [3, 1, 2, 3], "set": ["a"], "set2": ["c", "a"],
    "ml": [{"k": "z"}], "objs": [{"a": -1}], "m": {"k": "k"}, "mi": {"a": 0, "b": 5},
    "nested": {"y": ""}, "namespace": "other", "en": "three", "nul": "x", "free": {},
    "emb": {"apiVersion": "apps/v1", "kind": "X", "metadata": {"generateName": "g"}},
}
OBJECTS = [EVERYTHING, OTHER, {}]

TRANSITIONS = [
    (EVERYTHING, EVERYTHING),
    (EVERYTHING, OTHER),
    (EVERYTHING, dict(EVERYTHING, i=2, set=["b", "a"], ml=list(reversed(EVERYTHING["ml"])))),
]


def placed(node):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {"at": node}}}}


def rule(text, **more):
    return {"x-kubernetes-validations": [dict(rule=text, **more)]}


PLACED = [
    placed({"type": "array", "items": {"type": "string", **rule("self.size() > 1")}}),
    placed({"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10, **rule("self.contains('a')")}}),
    placed({"type": "array", "items": {"type": "string", **rule("self.contains('abc')")}}),
    placed({"type": "array", "items": {"type": "integer", **rule("self == oldSelf")}}),
    placed({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": STRING, "v": {"type": "integer", **rule("self == oldSelf")}}}}),
    placed({"type": "object", "additionalProperties": {"type": "string", **rule("self == oldSelf")}}),
    placed({"type": "object", "maxProperties": 100, "additionalProperties": {"type": "string", "maxLength": 1000, **rule("self.matches('^[a-z]*$')")}}),
    placed({"type": "string", **rule("self.x == 1")}),
    placed({"type": "string", **rule("self.matches('^[a-z]*$')")}),
    placed({"type": "string", "maxLength": 1000, **rule("self == 1")}),
    placed({"type": "integer", **rule("self > 'a'")}),
    placed({"type": "boolean", **rule("self")}),
    placed({"x-kubernetes-int-or-string": True, **rule("self > 1")}),
    placed({"x-kubernetes-int-or-string": True, **rule("self.matches('a')")}),
    placed({"x-kubernetes-preserve-unknown-fields": True, **rule("self == 1")}),
    placed({"type": "array", "items": {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string", **rule("self != ''")}}}}}),
    placed({"type": "array", "maxItems": 1000, "items": {"type": "array", "maxItems": 1000, "items": {"type": "integer", **rule("self > 0 && self < 100 && self != 50")}}}),
    {"type": "object", **rule("self.metadata.name == 'a'"), "properties": {"spec": {"type": "object"}}},
    {"type": "object", **rule("self.metadata.labels.size() == 1"), "properties": {"spec": {"type": "object"}}},
    {"type": "object", **rule("self.metadata.name.startsWith(self.spec.p)"), "properties": {"spec": {"type": "object", "properties": {"p": {"type": "string", "maxLength": 10}}}}},
    {"type": "object", **rule("self.kind == self.apiVersion"), "properties": {"spec": {"type": "object"}}},
    {"type": "object", **rule("self.status.x == 1"), "properties": {"spec": {"type": "object"}}},
    {"type": "object", "x-kubernetes-validations": [{"rule": "self.spec.l.all(x, x.all(y, y.contains('abc')))"}] * 6, "properties": {"spec": {"type": "object", "properties": {"l": {"type": "array", "maxItems": 300, "items": {"type": "array", "maxItems": 300, "items": {"type": "string", "maxLength": 100}}}}}}},
    {"type": "object", "x-kubernetes-validations": [{"rule": "self.spec.l.all(x, x.all(y, y.contains('abc')))"}] * 20, "properties": {"spec": {"type": "object", "properties": {"l": {"type": "array", "maxItems": 300, "items": {"type": "array", "maxItems": 300, "items": {"type": "string", "maxLength": 100}}}}}}},
]
