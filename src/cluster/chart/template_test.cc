#include "src/cluster/chart/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

StatusOr<std::string> Fill(std::string_view text) {
  static const json::object kFields = {{"Values",
                                        {{"name", "a"},
                                         {"empty", ""},
                                         {"on", true},
                                         {"off", false},
                                         {"number", 1000000},
                                         {"zero", 0},
                                         {"nothing", nullptr},
                                         {"list", {"x", "y"}},
                                         {"map", {{"k", "v"}, {"m", {1, 2}}}},
                                         {"entries", {{{"a", "1"}}, {{"b", "2"}}}},
                                         {"none", json::array()}}},
                                       {"Release", {{"Namespace", "kgpu"}}}};
  return RenderTemplate(text, "t.yaml", {.fields = kFields, .file = [](std::string_view path) {
                                           return path == "files/a"
                                                      ? std::optional<std::string_view>("1\n\n2\n")
                                                      : std::nullopt;
                                         }});
}

TEST(TemplateTest, PrintsValues) {
  EXPECT_THAT(Fill("a: {{ .Values.name }}{{.Release.Namespace}}"), IsOkAndHolds("a: akgpu"));
  EXPECT_THAT(Fill("{{ .Values.on }} {{ .Values.off }}"), IsOkAndHolds("true false"));
  EXPECT_THAT(Fill("{{ toJson .Values.number }}"), IsOkAndHolds("1000000"));
  EXPECT_THAT(Fill("{{ .Values.map | toJson }}"), IsOkAndHolds(R"({"k":"v","m":[1,2]})"));
  EXPECT_THAT(Fill("{{ quote .Values.name }}"), IsOkAndHolds("\"a\""));
  EXPECT_THAT(Fill("{{ \"text\" }}{{ true }}"), IsOkAndHolds("texttrue"));
}

TEST(TemplateTest, PrintsYamlBelowItsKey) {
  EXPECT_THAT(Fill("a:\n  {{- toYaml .Values.map | nindent 2 }}\nb: 1"),
              IsOkAndHolds("a:\n  k: v\n  m:\n  - 1\n  - 2\nb: 1"));
  EXPECT_THAT(Fill("a: |\n  {{- .Files.Get \"files/a\" | nindent 2 }}\n"),
              IsOkAndHolds("a: |\n  1\n\n  2\n"));
}

TEST(TemplateTest, TakesBlanksAlong) {
  EXPECT_THAT(Fill("a \n {{- .Values.name -}} \n b"), IsOkAndHolds("aab"));
  EXPECT_THAT(Fill("a {{- /* why */ -}} b{{/* and */}} c"), IsOkAndHolds("ab c"));
  EXPECT_THAT(Fill("{{ .Values.name -}}  {{- .Values.name }}"), IsOkAndHolds("aa"));
}

TEST(TemplateTest, ChoosesABranch) {
  constexpr std::string_view kText = "{{ if %s }}yes{{ else }}no{{ end }}";
  const auto choose = [&](std::string_view condition) {
    std::string text(kText);
    return Fill(text.replace(text.find("%s"), 2, condition));
  };
  for (const char* condition :
       {".Values.name", ".Values.on", ".Values.number", ".Values.list", ".Values.map",
        "and .Values.on .Values.name", "or .Values.off .Values.on", "not .Values.empty",
        "eq .Values.name \"a\"", "and .Values.on (ne .Values.name \"b\")",
        "(and .Values.on .Values.on) | not | not"}) {
    EXPECT_THAT(choose(condition), IsOkAndHolds("yes")) << condition;
  }
  for (const char* condition :
       {".Values.empty", ".Values.off", ".Values.zero", ".Values.nothing", ".Values.none",
        "and .Values.on .Values.empty", "or .Values.off .Values.empty", "not .Values.on",
        "ne .Values.name \"a\""}) {
    EXPECT_THAT(choose(condition), IsOkAndHolds("no")) << condition;
  }
  EXPECT_THAT(Fill("{{ if .Values.off }}1{{ else if .Values.on }}2{{ else }}3{{ end }}"),
              IsOkAndHolds("2"));
  EXPECT_THAT(Fill("{{ if .Values.on }}{{ if .Values.off }}1{{ end }}2{{ end }}"),
              IsOkAndHolds("2"));
}

struct Wrong {
  const char* text;
  const char* error;
};

TEST(TemplateTest, RefusesWhatItDoesNotKnow) {
  for (const Wrong& wrong : std::initializer_list<Wrong>{
           {"a\n  {{ .Values.nme }}", "t.yaml:2:6: there is no .Values.nme"},
           {"{{ .Values.name.x }}", "there is no .Values.name.x"},
           {"{{ .Values.number }}", "use toJson or toYaml"},
           {"{{ .Values.map }}", "use toJson or toYaml"},
           {"{{ .Values.nothing }}", "use toJson or toYaml"},
           {"{{ range .Values.list }}{{ end }}", "must be written as range $key, $entry :="},
           {"{{ range $a, $a := .Values.list }}{{ end }}", "must be written as"},
           {"{{ range $a.b, $c := .Values.list }}{{ end }}", "must be written as"},
           {"{{ range $a, $b := .Values.name }}{{ end }}", "must have a list or a map"},
           {"{{ range $a, $b := .Values.list }}", "range has no end"},
           {"{{ range $a, $b := .Values.list }}{{ else }}{{ end }}", "must end with end"},
           {"{{ range $a, $b := .Values.list }}{{ .Values.name }}{{ end }}",
            "within a range . is the entry: write $.Values.name"},
           {"{{ range $a, $b := .Values.list }}{{ $b.x }}{{ end }}", "there is no $b.x"},
           {"{{ range $a, $b := .Values.list }}{{ $ }}{{ end }}", "$ must be followed"},
           {"{{ $b }}", "there is no variable $b"},
           {"{{ fail \"set the name\" }}", "set the name"},
           {"{{ fail .Values.map }}", "argument 1 of fail must be a string"},
           {"{{ .Values.name, .Values.name }}", "\",\" is not part of the template language"},
           {"{{ include \"x\" }}", "\"include\" is no function"},
           {"{{ $x := 1 }}", "\":=\" is not part of the template language"},
           {"{{ % }}", "\"%\" is not part of the template language"},
           {"{{ .Values.name", "the action has no end"},
           {"{{ }}", "must contain something"},
           {"{{ /* a }}", "the comment has no end"},
           {"{{ \"a }}", "a string must end on its line"},
           {"{{ if .Values.on }}", "if has no end"},
           {"{{ if }}{{ end }}", "if must have a condition"},
           {"{{ if true }}{{ else }}{{ else }}{{ end }}", "nothing but end may follow else"},
           {"{{ else }}", "belongs to no if"},
           {"{{ toJson }}", "toJson got 0 arguments"},
           {"{{ nindent \"a\" \"b\" }}", "argument 1 of nindent must be a number"},
           {"{{ quote .Values.map }}", "argument 1 of quote must be a string"},
           {"{{ nindent 99999999 .Values.name }}", "a number up to 1000"},
           {"{{ .Values.name .Values.name }}", "only a function takes arguments"},
           {"{{ (.Values.name }}", "the parenthesis is not closed"},
           {"{{ .Values.name) }}", "has no opening parenthesis"},
           {"{{ .Values.name | .Values.name }}", "a function must follow |"},
           {"{{ .Values.name | }}", "a value or a function is missing"},
           {"{{ .Values..name }}", "names separated by dots"},
           {"{{ .Files.Get \"files/b\" }}", "the chart has no file \"files/b\""},
           {"{{ .Files.Get }}", "must have the path of a file"}}) {
    EXPECT_THAT(Fill(wrong.text), StatusIs(StatusCode::kInvalidArgument, HasSubstr(wrong.error)))
        << wrong.text;
  }
}

TEST(TemplateTest, RepeatsForListsAndMaps) {
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ if $i }},{{ end }}{{ $x }}{{ end }}"),
              IsOkAndHolds("x,y"));
  EXPECT_THAT(Fill("{{ range $key, $x := .Values.map }}{{ $key }}={{ toJson $x }} {{ end }}"),
              IsOkAndHolds("k=\"v\" m=[1,2] "));
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ $.Values.name }}{{ end }}"),
              IsOkAndHolds("aa"));
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.none }}{{ $x }}{{ end }}{{ .Values.name }}"),
              IsOkAndHolds("a"));
}

TEST(TemplateTest, VariablesEndWithTheirRange) {
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ range $j, $x := $.Values.list }}{{ $x }}"
                   "{{ end }}{{ $x }} {{ end }}"),
              IsOkAndHolds("xyx xyy "));
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.list }}{{ end }}{{ $x }}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("there is no variable $x")));
}

TEST(TemplateTest, AnEntryMayLackAKey) {
  EXPECT_THAT(Fill("{{ range $i, $x := .Values.entries }}{{ if $x.a }}{{ $x.a }}{{ else }}none"
                   "{{ end }} {{ end }}"),
              IsOkAndHolds("1 none "));
}

TEST(TemplateTest, RangesTogetherHaveALimit) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("{{{{ range $i{0}, $x{0} := $.Values.list }}}}", i);
  }
  for (int i = 0; i < 20; ++i) {
    text += "{{ end }}";
  }
  EXPECT_THAT(Fill(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than 10000")));
}

TEST(TemplateTest, RefusesWhatIsNestedTooDeep) {
  std::string parentheses(10'000, '(');
  EXPECT_THAT(Fill("{{ " + parentheses + " }}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested too deep")));
  std::string conditions;
  for (int i = 0; i < 10'000; ++i) {
    conditions += "{{ if true }}";
  }
  EXPECT_THAT(Fill(conditions),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested too deep")));
}

}  // namespace
}  // namespace kgpu::chart
