package main

import (
	"encoding/hex"
	"net/url"
	"strings"
)

// escapes is percent-coding, of paths' segments and of queries.
func escapes() string {
	t := newTable("input in hexadecimal, PathEscape, QueryEscape, URL.EscapedPath of it as a path, then PathUnescape and QueryUnescape: = and hexadecimal, or ! and the error")
	seen := map[string]bool{}
	more := []string{"%", "%2", "%zz", "%2f", "%2F", "%25", "a%20b", "a+b", "a%2bb", "%e4%b8%ad", "%ff%fe", "%C3%28", "100%", "%%%", "%u0041", "%2", "a%",
		"a%2Fb/c", "/a/b c", "a:b", "a;b", "a,b?c#d", "%00", "a%0Ab", "~!@#$%^&*()_+", "[1]", "=&"}
	for b := range 256 {
		more = append(more, string([]byte{byte(b)}), "%"+strings.ToUpper(hex.EncodeToString([]byte{byte(b)})), "%a"+string([]byte{byte(b)}))
	}
	all := texts()
	for i := 0; i < len(all); i += 5 {
		more = append(more, all[i])
	}
	for _, text := range more {
		if seen[text] {
			continue
		}
		seen[text] = true
		path := &url.URL{Path: text}
		t.row(hex.EncodeToString([]byte(text)), url.PathEscape(text), url.QueryEscape(text), path.EscapedPath(),
			unescaped(url.PathUnescape(text)), unescaped(url.QueryUnescape(text)))
	}
	return t.String()
}

func unescaped(text string, err error) string {
	if err != nil {
		return "!" + err.Error()
	}
	return "=" + hex.EncodeToString([]byte(text))
}

// urls is what Parse and ParseRequestURI make of a text.
func urls() string {
	t := newTable("function, input in hexadecimal, ! and the error, or: scheme, opaque, user, host, hostname, port, escaped path, path, query, fragment (all in hexadecimal but the first)")
	schemes := []string{"", "http:", "https:", "HTTP:", "mailto:", "a+b-c.d:", "1a:", ":", "ä:"}
	authorities := []string{"", "//", "//h", "//h.example:443", "//H:", "//h:x", "//h:80:90", "//u@h", "//u:p@h", "//u%20x:p%40@h", "//u:p:q@h", "//u@v@h",
		"//u{@h", "//@h", "//[::1]", "//[::1]:8080", "//[::1", "//[::1]x", "//[1.2.3.4]", "//[fe80::1%25eth0]", "//[fe80::1%25]", "//[fe80::1%eth0]", "//[fe80::1%25%41]", "//[zz]",
		"//x[::1]", "//a b", "//a%20b", "//a%25b", "//a%e4b", "//a%41", "//ä", "//a\\b", "//a\"b", "//a<b>", "//a^b", "//a|b", "//a%zz", "//a%", "//::1", "//1.2.3.4:5", "///x", "//h:65536", "//h:-1"}
	rests := []string{"", "/", "/a/b", "/a%20b", "/a b", "/a%2fb", "/%zz", "/%", "/a:b", "a", "a:b", "*", "/ä", "/a%C3%A4", "/a[b]{c}", "/!'()*,;=@$&+", "/a\\b^c|d\"e<f>`"}
	tails := []string{"", "?", "?q", "?a=b&c=%20+d", "?%zz", "#", "#f", "#f%20g h", "#%zz", "?q#f?g#h", "?a#b%"}
	seen := map[string]bool{}
	add := func(text string) {
		if seen[text] {
			return
		}
		seen[text] = true
		cells := func(name string, parsed *url.URL, err error) {
			if err != nil {
				t.row(name, hex.EncodeToString([]byte(text)), "!"+err.Error())
				return
			}
			row := []string{name, hex.EncodeToString([]byte(text))}
			for _, part := range []string{parsed.Scheme, parsed.Opaque, user(parsed), parsed.Host, parsed.Hostname(), parsed.Port(),
				parsed.EscapedPath(), parsed.Path, parsed.RawQuery, parsed.Fragment} {
				row = append(row, hex.EncodeToString([]byte(part)))
			}
			t.row(row...)
		}
		parsed, err := url.Parse(text)
		cells("Parse", parsed, err)
		parsed, err = url.ParseRequestURI(text)
		cells("ParseRequestURI", parsed, err)
	}
	for _, scheme := range schemes {
		for _, authority := range authorities {
			add(scheme + authority)
		}
		for _, rest := range rests {
			add(scheme + rest)
		}
	}
	for _, rest := range rests {
		for _, tail := range tails {
			add("https://h" + rest + tail)
			add(rest + tail)
		}
	}
	for _, tail := range tails {
		add("mailto:x" + tail)
		add("https:" + tail)
		add(tail)
	}
	for _, text := range []string{"\x00", "a\x1fb", "https://h/\x7f", " https://h", "https ://h", "https://h/ä b?ü#ö"} {
		add(text)
	}
	return t.String()
}

func user(parsed *url.URL) string {
	if parsed.User == nil {
		return ""
	}
	return parsed.User.String() + "@"
}
