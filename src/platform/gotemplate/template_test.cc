#include "src/platform/gotemplate/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::gotemplate {
namespace {

using testing::HasSubstr;

Value Device(const char* class_id, const char* vendor, const char* device) {
  return Value(Value::Dict{
      {"class", Value(class_id)}, {"vendor", Value(vendor)}, {"device", Value(device)}});
}

// As a rule's matched features look.
Value TestData() {
  const Value devices(Value::List{Device("0302", "10de", "20b5"), Device("0200", "15b3", "1017")});
  const Value version(
      Value::List{Value(Value::Dict{{"Name", Value("major")}, {"Value", Value("6")}}),
                  Value(Value::Dict{{"Name", Value("minor")}, {"Value", Value("1")}})});
  return Value(Value::Dict{{"pci", Value(Value::Dict{{"device", devices}})},
                           {"kernel", Value(Value::Dict{{"version", version}})},
                           {"usb", Value(Value::Dict{{"device", Value(Value::List{})}})}});
}

const Language& TestLanguage() {
  static const Language kLanguage{.functions = AllFunctions(), .reference = "functions.md"};
  return kLanguage;
}

StatusOr<Template> Parsed(std::string_view text) {
  return Template::Parse(text, TestLanguage());
}

StatusOr<std::string> Expanded(std::string_view text) {
  auto parsed = Parsed(text);
  return parsed.ok() ? parsed->Expand(TestData()) : parsed.status();
}

struct Case {
  std::string_view text;
  std::string_view output;
};

void ExpectOutputs(std::initializer_list<Case> cases) {
  for (const Case& one : cases) {
    const auto output = Expanded(one.text);
    EXPECT_THAT(output, IsOkAndHolds(one.output)) << one.text;
  }
}

struct Refusal {
  std::string_view text;
  std::string_view error;
};

TEST(TemplateTest, PrintsFieldsOfWhatItRangesOver) {
  ExpectOutputs({
      {"", ""},
      {"a=b", "a=b"},
      {"{{range .pci.device}}{{.class}}_{{.vendor}} {{end}}", "0302_10de 0200_15b3 "},
      {"{{range $i, $d := .pci.device}}{{$i}}={{$d.device}},{{end}}", "0=20b5,1=1017,"},
      {"{{range $d := .pci.device}}{{$d.vendor}}{{.class}};{{end}}", "10de0302;15b30200;"},
      {"{{range .usb.device}}x{{else}}none{{end}}", "none"},
      {"{{range $k, $v := .pci}}{{$k}}{{len $v}}{{end}}", "device2"},
      {"{{range .kernel.version}}{{.Name}}={{.Value}} {{end}}", "major=6 minor=1 "},
      {"{{range .pci.device}}{{len $.kernel.version}}{{end}}", "22"},
      {"{{range .pci.device}}{{if eq .class \"0302\"}}{{continue}}{{end}}{{.device}}{{end}}",
       "1017"},
      {"{{range .pci.device}}{{.device}}{{break}}{{end}}", "20b5"},
  });
}

TEST(TemplateTest, DecidesWithIfAndWith) {
  ExpectOutputs({
      {"{{if .pci.device}}yes{{else}}no{{end}}", "yes"},
      {"{{if .usb.device}}yes{{else}}no{{end}}", "no"},
      {"{{if false}}a{{else if eq 1 1}}b{{else}}c{{end}}", "b"},
      {"{{if false}}a{{else if false}}b{{else}}c{{end}}", "c"},
      {"{{with index .pci.device 0}}{{.vendor}}{{end}}", "10de"},
      {"{{with .usb.device}}x{{else}}none{{end}}", "none"},
      {"{{with $x := 5}}{{$x}}{{end}}", "5"},
      {"{{if and .pci.device (not .usb.device)}}gpu{{end}}", "gpu"},
      {"{{if or .usb.device .pci.device}}some{{end}}", "some"},
      // Nobody looks at the third.
      {"{{and 1 0 (index .usb.device 5)}}", "0"},
  });
}

TEST(TemplateTest, KeepsVariables) {
  ExpectOutputs({
      {"{{$x := 1}}{{$x = add $x 2}}{{$x}}", "3"},
      {"{{$n := 0}}{{range .pci.device}}{{$n = add1 $n}}{{end}}{{$n}}", "2"},
      {"{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}", "21"},
      {"{{$x := 1}}{{if false}}{{$x := 2}}{{else if true}}{{$x}}{{end}}", "1"},
      {"{{with $x := 0}}{{else}}{{$x}}{{end}}", "0"},
      {"{{$d := .pci.device}}{{(first $d).vendor}}", "10de"},
      {"{{(.pci.device | first).class | trim | substr 0 2}}", "03"},
  });
}

TEST(TemplateTest, TrimsBlanksBesideActions) {
  ExpectOutputs({
      {"a {{- 1 -}} b", "a1b"},
      {"a\n\t{{- /* note */ -}}\n b", "ab"},
      {"a {{/* {{note}} */}} b", "a  b"},
      {"{{\"{{\"}}", "{{"},
      {"a\n{{- range .pci.device }}\n{{ .vendor }}{{ end -}}\n", "a\n10de\n15b3"},
      {"{{3 -}} x{{- -3}}", "3x-3"},
  });
}

TEST(TemplateTest, CallsFunctionsOfTexts) {
  ExpectOutputs({
      {R"({{lower "AbC"}}{{upper "AbC"}})", "abcABC"},
      {R"({{"  a b " | trim}}|{{trimAll "-" "--a-b-"}}|{{nospace " a b "}})", "a b|a-b|ab"},
      {R"({{trimPrefix "v" "v1"}}{{trimSuffix ".0" "1.0"}}{{trimPrefix "x" "v1"}})", "11v1"},
      {R"({{replace "." "-" "1.2.3"}})", "1-2-3"},
      {R"({{contains "b" "abc"}}{{hasPrefix "a" "abc"}}{{hasSuffix "a" "abc"}})", "truetruefalse"},
      {R"({{substr 1 3 "abcd"}}|{{substr 2 -1 "abcd"}}|{{substr 9 10 "abcd"}})", "bc|cd|"},
      {R"({{trunc 2 "abcd"}}{{trunc -2 "abcd"}}{{trunc 9 "ab"}})", "abcdab"},
      {R"({{quote "a\"b"}}{{quote 1}})", R"("a\"b""1")"},
      {R"({{quote "a\n\t\r\\"}})", R"("a\n\t\r\\")"},
      {R"({{join "," (splitList "." "1.2.3")}})", "1,2,3"},
      {R"({{(split "." "5.10.0")._1}})", "10"},
      {R"({{regexMatch "^[0-9]+$" "12"}}{{regexFind "[a-z]+" "12ab3"}})", "trueab"},
      {R"~({{regexReplaceAll "[^A-Za-z0-9_.-]" "Tesla T4 (16GB)" "_"}})~", "Tesla_T4__16GB_"},
      {R"({{regexReplaceAllLiteral "a" "banana" "\\$1"}})", R"(b\$1n\$1n\$1)"},
      {R"({{print "a" 1 true}})", "a1true"},
      {R"({{toString 5 | len}})", "1"},
      {"{{`a\\b`}}", "a\\b"},
  });
}

TEST(TemplateTest, CallsFunctionsOfNumbers) {
  ExpectOutputs({
      {"{{add 1 2 3}} {{sub 5 7}} {{mul 2 3}} {{div 7 2}} {{mod 7 2}} {{max 1 9 3}} {{min 4 2}}",
       "6 -2 6 3 1 9 2"},
      {R"({{atoi "42" | add 1}}{{int "+7"}})", "437"},
      {R"({{eq 1 1}}{{eq "a" "b" "a"}}{{ne 1 2}})", "truetruetrue"},
      {R"({{lt 1 2}}{{le 2 2}}{{gt "b" "a"}}{{ge 1 2}})", "truetruetruefalse"},
      {R"({{default "x" ""}}{{default "x" "y"}}{{"" | default "z"}})", "xyz"},
      {R"({{ternary "a" "b" true}}{{true | ternary "c" "d"}}{{coalesce 0 "" "e"}}{{empty 0}})",
       "acetrue"},
  });
}

TEST(TemplateTest, CallsFunctionsOfLists) {
  ExpectOutputs({
      {"{{len .pci.device}}{{len \"abc\"}}{{len .pci}}", "231"},
      {"{{.pci.device | len}}{{len(.pci.device)}}", "22"},
      {R"({{index .pci "device" 1 "vendor"}}{{index (index .pci.device 0) "none"}}|)", "15b3|"},
      {R"({{(last .pci.device).device}}{{len (rest .pci.device)}})", "10171"},
      {R"({{join "," (uniq (list "b" "a" "b"))}} {{list "b" "a" | sortAlpha | join ","}})",
       "b,a a,b"},
      {R"({{has "a" (list "a" "b")}}{{hasKey .pci "device"}}{{join "," (keys .)}})",
       "truetruekernel,pci,usb"},
      {R"({{get (first .pci.device) "vendor"}})", "10de"},
      {"{{first .usb.device}}", ""},
  });
}

TEST(TemplateTest, FormatsAsPrintf) {
  ExpectOutputs({
      {R"({{printf "%s-%d%%" "a" 5}})", "a-5%"},
      {R"({{printf "%02d|%5d|%-5d|%+d" 7 7 7 7}})", "07|    7|7    |+7"},
      {R"({{printf "%05d" -42}})", "-0042"},
      {R"({{printf "%5s|%-5s|%.2s" "ab" "ab" "abc"}})", "   ab|ab   |ab"},
      {R"({{printf "%x %X %x" 255 255 "az"}})", "ff FF 617a"},
      {R"({{printf "%v %v %v %t" 1 "a" true false}})", "1 a true false"},
      {R"({{printf "%q" "a\"b"}})", R"("a\"b")"},
      {R"({{printf "%q" "\t\r"}})", R"("\t\r")"},
      {"{{printf \"%q\" `\x01\x7f`}}", R"("\x01\x7f")"},
      {R"({{5 | printf "%d"}})", "5"},
  });
}

TEST(TemplateTest, RefusesWhatIsNoTemplateWhenItIsLoaded) {
  for (const auto& [text, error] : std::initializer_list<Refusal>{
           {"a\n {{lowr .pci.device}}",
            "line 2, column 4: unknown function \"lowr\": did you mean \"lower\"?"},
           {"{{", "line 1, column 3: unclosed action"},
           {"{{}}", "missing value"},
           {"{{if true}}", "line 1, column 1: if is not closed: add {{end}}"},
           {"{{range .x}}a{{else}}", "range is not closed"},
           {"{{end}}", "no open"},
           {"{{else}}", "no open"},
           {"{{if true}}{{else}}{{else}}{{end}}", "if is not closed"},
           {"{{break}}", "break is outside of a range"},
           {"{{$x}}", "unknown variable $x"},
           {"{{if true}}{{$x := 1}}{{end}}{{$x}}", "unknown variable $x"},
           {"{{.attr-1}}", "index . \"a-b\""},
           {"{{1.5}}", "not an integer"},
           {"{{.5}}", "integers"},
           {"{{99999999999999999999}}", "not an integer"},
           {"{{\"a}}", "unclosed string"},
           {"{{`a}}", "unclosed string"},
           {"{{\"\\x41\"}}", "unsupported escape"},
           {"{{template \"x\"}}", "template is not supported"},
           {"{{define \"x\"}}{{end}}", "define is not supported"},
           {"{{lower}}", "lower needs 1 argument, not 0"},
           {"{{substr 1 \"a\"}}", "substr needs 3 arguments, not 2"},
           {"{{eq 1}}", "eq needs 2 or more arguments"},
           {"{{.a .b}}", "only a function takes arguments"},
           {"{{1 | 2}}", "a function must follow |"},
           {"{{lower upper \"a\"}}", "needs brackets: (upper …)"},
           {"{{(lower \"a\"}}", "unclosed bracket"},
           {"{{lower \"a\")}}", "\")\" is unexpected here"},
           {"{{\"a\".b}}", "a constant has no fields"},
           {"{{len \"a\"\"b\"}}", "missing space"},
           {"{{regexMatch .a \"b\"}}", "must be a constant here"},
           {"{{regexMatch \"(\" \"b\"}}", "must be a regular expression"},
           {"{{printf \"%d\"}}", "column 3: printf: verbs in the format: 1, values: 0"},
           {"{{printf \"%f\" 1}}", "\"%f\" is not supported"},
           {"{{1 & 2}}", "is unexpected here"},
           {"{{/* a}}", "is unexpected here"},
           {"{{env \"HOME\"}}", "unknown function \"env\""},
       }) {
    EXPECT_THAT(Parsed(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(error))))
        << text;
  }
}

TEST(TemplateTest, TellsWhereAnExpansionFails) {
  for (const auto& [text, error] : std::initializer_list<Refusal>{
           {"{{.pci.devices}}", "line 1, column 3: no .devices here, did you mean .device?"},
           {"a\n{{range .pci.device}}{{.clas}}{{end}}", "line 2, column 24: no .clas"},
           {"{{.pci.device.class}}", ".class of a list: only maps have fields; use range"},
           {"{{.pci.device}}", "a list cannot be printed"},
           {"{{.pci}}", "a map cannot be printed"},
           {"{{range 5}}{{end}}", "range over a number"},
           {"{{index .pci.device 2}}", "index: no item 2 in a list of 2"},
           {"{{index .pci.device \"a\"}}", "a string instead of a number: use atoi"},
           {"{{eq 1 \"1\"}}", "a number compared with a string"},
           {"{{atoi \"x\"}}", "\"x\" must be an integer"},
           {"{{div 1 0}}", "is divided by 0"},
           {"{{add 9223372036854775807 1}}", "exceeds 64 bits"},
           {"{{lower 5}}", "a number instead of a string: use toString"},
           {"{{printf \"%d\" \"a\"}}", "column 3: printf: %d of a string: use atoi"},
           {"{{splitList \"\" \"a\"}}", "needs a separator"},
           {"{{ternary 1 2 3}}", "a number instead of true or false"},
       }) {
    const auto output = Expanded(text);
    EXPECT_THAT(Message(output.status()), HasSubstr(error)) << text;
  }
}

MATCHER_P2(StatusHas, code, text, "") {
  return testing::ExplainMatchResult(StatusIs(code, HasSubstr(text)), arg, result_listener);
}

TEST(TemplateTest, BoundsWhatItIsGivenAndWhatItMakes) {
  EXPECT_THAT(Parsed(std::string(TestLanguage().limits.text_bytes + 1, 'a')),
              StatusHas(StatusCode::kInvalidArgument, "bytes"));
  std::string deep;
  for (size_t i = 0; i <= TestLanguage().limits.depth; ++i) {
    deep += "{{if true}}";
  }
  EXPECT_THAT(Parsed(deep), StatusHas(StatusCode::kInvalidArgument, "nested blocks"));
  std::string many;
  for (size_t i = 0; i < 11'000; ++i) {
    many += "{{1}}";
  }
  EXPECT_THAT(Parsed(many), StatusHas(StatusCode::kInvalidArgument, "20000 parts"));
  EXPECT_THAT(Parsed("{{" + std::string(100, '(') + "1}}"),
              StatusHas(StatusCode::kInvalidArgument, "nested blocks"));
  EXPECT_THAT(Expanded(R"({{$x := "a"}}{{range splitList "," "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7"}})"
                       R"({{$x = print $x $x}}{{end}})"),
              StatusHas(StatusCode::kOutOfRange, "produces more than 65536 bytes"));
  EXPECT_THAT(Expanded(R"({{$x := splitList "," "1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0"}})"
                       R"({{range $x}}{{range $x}}{{range $x}}{{range $x}}{{range $x}}{{end}})"
                       R"({{end}}{{end}}{{end}}{{end}})"),
              StatusHas(StatusCode::kOutOfRange, "takes more than 100000 steps"));
  EXPECT_THAT(Expanded(R"({{$x := splitList "," "1,2,3,4,5,6,7,8,9,0"}}{{range $x}}{{range $x}})"
                       R"({{range $x}}{{printf "%256d" 1}}{{end}}{{end}}{{end}})"),
              StatusHas(StatusCode::kOutOfRange, "output has more than 65536 bytes"));
}

TEST(TemplateTest, CallsMethodsOfTheLanguage) {
  Language language;
  language.functions.push_back({.name = ".Get",
                                .least = 2,
                                .most = 2,
                                .body = [](Arguments args, const Context&) -> StatusOr<Value> {
                                  const Value::Dict* files = args[0].if_dict();
                                  return files->at(*args[1].if_text());
                                }});
  const Value data(Value::Dict{{"Files", Value(Value::Dict{{"a", Value("text")}})}});
  for (const std::string_view text : {"{{.Files.Get \"a\"}}", "{{\"a\" | .Files.Get}}",
                                      "{{with .Files}}{{$.Files.Get \"a\"}}{{end}}"}) {
    const auto parsed = Template::Parse(text, language);
    ASSERT_OK(parsed) << text;
    EXPECT_THAT(parsed->Expand(data), IsOkAndHolds("text")) << text;
  }
  EXPECT_THAT(Template::Parse("{{.Files.Get}}", language),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(".Get needs 2 arguments, not 1")));
  EXPECT_THAT(Parsed("{{.Files.Get \"a\"}}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("only a function takes")));
}

TEST(TemplateTest, AFunctionMayEndTheTemplateWithItsOwnText) {
  Language language;
  language.functions.push_back({.name = "fail",
                                .least = 1,
                                .most = 1,
                                .body = [](Arguments args, const Context&) -> StatusOr<Value> {
                                  return MakeStatus(kEnds, *args[0].if_text());
                                }});
  const auto parsed = Template::Parse("{{if true}}{{fail \"set it\"}}{{end}}", language);
  ASSERT_OK(parsed);
  EXPECT_EQ(parsed->Expand(Value()).status(), MakeStatus(kEnds, "set it"));
}

TEST(TemplateTest, TheLanguageDecidesWhatIsPrinted) {
  Language language;
  language.print = [](const Value& value) -> StatusOr<std::string> {
    return value.if_text() != nullptr ? value.Text() : InvalidArgument("only strings");
  };
  const auto parsed = Template::Parse("{{.}}", language);
  ASSERT_OK(parsed);
  EXPECT_THAT(parsed->Expand(Value("a")), IsOkAndHolds("a"));
  EXPECT_THAT(parsed->Expand(Value(int64_t{1})), StatusIs(StatusCode::kInvalidArgument));
}

TEST(TemplateTest, DecimalNumbersOnlyDecide) {
  const auto parsed = Parsed("{{if .}}yes{{else}}no{{end}}");
  ASSERT_OK(parsed);
  EXPECT_THAT(parsed->Expand(Value(0.5)), IsOkAndHolds("yes"));
  EXPECT_THAT(parsed->Expand(Value(0.0)), IsOkAndHolds("no"));
  for (const char* text : {"{{.}}", "{{eq . 1}}", "{{add . 1}}", "{{quote .}}"}) {
    const auto other = Parsed(text);
    ASSERT_OK(other);
    EXPECT_THAT(other->Expand(Value(1.0)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("a decimal number")))
        << text;
  }
}

TEST(TemplateTest, NamesWhatItTakesOfTheWholeData) {
  const auto parsed = Parsed(
      "{{range .pci.device}}{{.class}}{{$.kernel.version}}{{end}}{{if .usb}}{{.a.b.c}}{{end}}");
  ASSERT_OK(parsed);
  std::vector<std::vector<std::string>> fields;
  for (const Path& path : parsed->paths()) {
    fields.push_back(path.fields);
  }
  EXPECT_THAT(fields, testing::ElementsAre(std::vector<std::string>{"pci", "device"},
                                           std::vector<std::string>{"kernel", "version"},
                                           std::vector<std::string>{"usb"},
                                           std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parsed->paths()[1].place.column, 34U);
}

}  // namespace
}  // namespace kgpu::gotemplate
