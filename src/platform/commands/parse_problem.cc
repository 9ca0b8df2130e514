#include "src/platform/commands/parse_problem.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <string_view>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::commands {
namespace {

constexpr size_t kMaxValue = 60;  // characters of a value that are shown

// "a", "a or b", "a, b or c".
std::string Listed(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string before =
        i == 0 ? "" : (i + 1 == words.size() ? fmt::format(" {} ", last) : ", ");
    text += before + words[i];
  }
  return text;
}

std::string QuotedValue(std::string_view value) {
  return fmt::format("\"{}\"", Printable(value, kMaxValue));
}

// Of a command and of the groups of its options.
std::vector<const CLI::Option*> OptionsOf(const CLI::App& app) {
  std::vector<const CLI::Option*> options = app.get_options();
  for (const CLI::App* group :
       app.get_subcommands([](const CLI::App* child) { return child->get_name().empty(); })) {
    const std::vector<const CLI::Option*> more = group->get_options();
    options.insert(options.end(), more.begin(), more.end());
  }
  return options;
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : OptionsOf(app)) {
    if (option->get_name() == name) {
      return option;
    }
  }
  return nullptr;
}

// A type's validators stand behind it: "UINT:INT in [1 - 999]".
std::string PlainType(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

// What a number of the option's type may be; empty: it is none.
std::string NumberOf(const CLI::Option& option) {
  const std::string type = PlainType(option);
  if (type == "UINT") {
    return "a whole number, 0 or more";
  }
  if (type == "INT") {
    return "a whole number";
  }
  return type == "FLOAT" ? "a number" : "";
}

// "DIR (folder of the simulated host)", "--profile PROFILE".
std::string Described(const CLI::Option& option) {
  const std::vector<std::string> words = WordsOfType(option.get_type_name());
  const std::string& what = words.empty() ? option.get_description() : Listed(words, "or");
  return what.empty() ? option.get_name() : fmt::format("{} ({})", option.get_name(), what);
}

std::string Missing(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : OptionsOf(app)) {
    if (option->get_required() && option->count() == 0) {
      names.push_back(Described(*option));
    }
  }
  return names.empty()
             ? ""
             : fmt::format("{} {}", Listed(names, "and"),
                           names.size() == 1 ? "is missing: add it" : "are missing: add them");
}

// What stands between the brackets: "Exactly 1 option from [--down,--up] is required".
std::vector<std::string> Bracketed(std::string_view text) {
  const size_t begin = text.find('[');
  const size_t end = text.rfind(']');
  std::vector<std::string> words;
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return words;
  }
  for (const std::string_view word : Split(text.substr(begin + 1, end - begin - 1), ',')) {
    if (!word.empty()) {
      words.emplace_back(word);
    }
  }
  return words;
}

std::string RequiredProblem(const CLI::App& app, std::string_view text) {
  if (std::string missing = Missing(app); !missing.empty()) {
    return missing;
  }
  const std::vector<std::string> flags = Bracketed(text);
  if (flags.empty()) {
    return std::string(text);
  }
  const bool is_too_many = text.find("were given") != std::string_view::npos ||
                           text.find("at most") != std::string_view::npos;
  return is_too_many ? fmt::format("set only one of {}", Listed(flags, "and"))
                     : fmt::format("set one of {}", Listed(flags, "or"));
}

// "--times needs a value", with what it may be.
std::string ValueMissing(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = FindOption(app, name);
  if (option == nullptr) {
    return fmt::format("{} needs a value", name);
  }
  const std::vector<std::string> words = WordsOfType(option->get_type_name());
  if (!words.empty()) {
    return fmt::format("{} needs a value: {}", name, Listed(words, "or"));
  }
  const std::string number = NumberOf(*option);
  if (!number.empty()) {
    return fmt::format("{} needs a value: {}", name, number);
  }
  const std::string type = PlainType(*option);
  return fmt::format("{} needs a value: {} {}", name, name, type == "TEXT" ? "VALUE" : type);
}

// "--output: At Most 1 required but received 2", "--host-root: 1 required DIR missing".
std::string CountProblem(const CLI::App& app, const std::string& name, std::string_view text) {
  if (text.find("At Most") == std::string_view::npos) {
    return ValueMissing(app, name);
  }
  const std::vector<std::string_view> words = Words(text);
  return fmt::format("{} is given {} times: give it once", name,
                     words.empty() ? "several" : words.back());
}

// "1.500000" is 1.5.
std::string_view PlainNumber(std::string_view number) {
  if (number.find('.') == std::string_view::npos) {
    return number;
  }
  number.remove_suffix(number.size() - 1 - number.find_last_not_of('0'));
  return number.ends_with('.') ? number.substr(0, number.size() - 1) : number;
}

// Of "Value 9999 not in range 1 to 999".
std::string RangeProblem(const CLI::App& app, const std::string& name, std::string_view text) {
  constexpr std::string_view kBefore = "Value ";
  constexpr std::string_view kBetween = " not in range ";
  constexpr std::string_view kTo = " to ";
  const size_t middle = text.rfind(kBetween);
  const std::string_view range = text.substr(middle + kBetween.size());
  const size_t to = range.find(kTo);
  if (!text.starts_with(kBefore) || to == std::string_view::npos) {
    return fmt::format("{}: {}", name, text);
  }
  const std::string value = QuotedValue(text.substr(kBefore.size(), middle - kBefore.size()));
  const std::string_view max = range.substr(to + kTo.size());
  const CLI::Option* option = FindOption(app, name);
  // Without a greatest value the largest number that there is stands here.
  constexpr size_t kUnbounded = 30;
  if (max.size() < kUnbounded) {
    return fmt::format("{}: {} must be a number from {} to {}", name, value,
                       PlainNumber(range.substr(0, to)), PlainNumber(max));
  }
  const bool is_positive =
      option != nullptr && option->get_type_name().find("POSITIVE") != std::string::npos;
  return fmt::format("{}: {} must be a number, {}", name, value,
                     is_positive ? "greater than 0" : "0 or more");
}

// "--only: disk not in {driver,kernel-log}", "CODE: Value 9999 not in range 1 to 999".
std::string ValueProblem(const CLI::App& app, const std::string& name, std::string_view text) {
  if (text.find(" not in range ") != std::string_view::npos) {
    return RangeProblem(app, name, text);
  }
  const size_t set = text.rfind(" not in {");
  const CLI::Option* option = FindOption(app, name);
  if (set == std::string_view::npos || option == nullptr) {
    return fmt::format("{}: {}", name, text);
  }
  return fmt::format("{}: {} must be {}", name, QuotedValue(text.substr(0, set)),
                     Listed(WordsOfType(option->get_type_name()), "or"));
}

// "Could not convert: --times = abc".
std::string ConversionProblem(const CLI::App& app, std::string_view text) {
  constexpr std::string_view kBefore = "Could not convert: ";
  constexpr std::string_view kSign = " = ";
  const size_t sign = text.find(kSign);
  if (!text.starts_with(kBefore) || sign == std::string_view::npos) {
    return std::string(text);
  }
  const std::string name(text.substr(kBefore.size(), sign - kBefore.size()));
  const std::string_view value = text.substr(sign + kSign.size());
  const CLI::Option* option = FindOption(app, name);
  if (option != nullptr && option->get_items_expected_max() == 0) {
    return fmt::format("{} takes no value: leave out \"={}\"", name, Printable(value, kMaxValue));
  }
  const std::string number = option == nullptr ? "" : NumberOf(*option);
  return fmt::format("{}: {} must be {}", name, QuotedValue(value),
                     number.empty() ? "another value" : number);
}

// The two names of "--from excludes --kubeconfig".
struct Pair {
  std::string_view first;
  std::string_view second;
};
Pair PairOf(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  return words.size() == 3 ? Pair{words[0], words[2]} : Pair{text, text};
}

}  // namespace

std::string ParseProblem(const CLI::App& app, const CLI::ParseError& error) {
  const std::string_view text = error.what();
  const std::string kind = error.get_name();
  const size_t colon = text.find(": ");
  const std::string name(text.substr(0, colon));
  const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 2);
  if (kind == "RequiredError") {
    return RequiredProblem(app, text);
  }
  if (kind == "ArgumentMismatch") {
    return CountProblem(app, name, rest);
  }
  if (kind == "ValidationError") {
    return ValueProblem(app, name, rest);
  }
  if (kind == "ConversionError") {
    return ConversionProblem(app, text);
  }
  if (kind == "ExcludesError") {
    const Pair pair = PairOf(text);
    return fmt::format("{} and {} cannot be combined: leave one out", pair.first, pair.second);
  }
  if (kind == "RequiresError") {
    const Pair pair = PairOf(text);
    return fmt::format("{} works only with {}: add {}, or leave out {}", pair.first, pair.second,
                       pair.second, pair.first);
  }
  return std::string(text);
}

std::string UsageLine(const Reached& reached) {
  std::string line = reached.words;
  bool has_flags = false;
  const auto put = std::back_inserter(line);
  for (const CLI::Option* option : OptionsOf(*reached.app)) {
    const std::string& name = option->get_name();
    const bool is_many = option->get_items_expected_max() > 1;
    if (!option->get_positional()) {
      has_flags |= option != reached.app->get_help_ptr();
      if (option->get_required()) {
        fmt::format_to(put, " {} {}", name, PlainType(*option));
      }
    } else if (option->get_required()) {
      fmt::format_to(put, " {}{}", name, is_many ? "..." : "");
    } else {
      fmt::format_to(put, " [{}{}]", name, is_many ? "..." : "");
    }
  }
  return line + (has_flags ? " [flags]" : "");
}

}  // namespace kgpu::commands
