#include "src/container/engine/unit_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

// The first one that has a file counts.
constexpr std::array<std::string_view, 5> kUnitFolders = {
    "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system", "/lib/systemd/system"};

struct Setting {
  std::string key;
  std::string value;
  std::string where;
};

// The settings of [Service] in one file.
void AddSettings(const NamedText& file, std::vector<Setting>& settings) {
  bool is_service = false;
  std::string joined;  // lines that end with a backslash go on in the next one
  size_t number = 0;
  size_t first = 0;
  for (const std::string_view whole : Split(file.text, '\n')) {
    ++number;
    const std::string_view line = Trim(whole);
    if (line.starts_with('#') || line.starts_with(';')) {
      continue;
    }
    first = joined.empty() ? number : first;
    if (line.ends_with('\\')) {
      joined += fmt::format("{} ", line.substr(0, line.size() - 1));
      continue;
    }
    joined += line;
    const std::string setting = std::exchange(joined, {});
    if (setting.starts_with('[')) {
      is_service = setting == "[Service]";
    } else if (const size_t at = setting.find('='); is_service && at != std::string::npos) {
      settings.push_back({std::string(Trim(std::string_view(setting).substr(0, at))),
                          std::string(Trim(std::string_view(setting).substr(at + 1))),
                          fmt::format("{}:{}", file.path, first)});
    }
  }
}

std::string FileOf(const sys::Root& host, const std::string& unit) {
  for (const std::string_view folder : kUnitFolders) {
    if (std::string path = fmt::format("{}/{}", folder, unit); host.Exists(path)) {
      return path;
    }
  }
  return "";
}

// By name, from whichever folder: of two with one name the first folder's counts.
std::map<std::string, std::string> DropInsOf(const sys::Root& host, const std::string& unit) {
  std::map<std::string, std::string> paths;
  for (const std::string_view top : kUnitFolders) {
    const std::string folder = fmt::format("{}/{}.d", top, unit);
    const auto names = host.ListDir(folder);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (name.ends_with(".conf")) {
        paths.try_emplace(name, fmt::format("{}/{}", folder, name));
      }
    }
  }
  return paths;
}

// Words as systemd takes them apart: blanks between, quotes around.
std::vector<std::string> QuotedWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool is_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      is_word = true;
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      is_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (std::exchange(is_word, false)) {
        words.push_back(std::exchange(word, {}));
      }
    } else {
      word += c;
      is_word = true;
    }
  }
  if (is_word) {
    words.push_back(std::move(word));
  }
  return words;
}

struct Variable {
  std::string value;
  std::string where;
};
using Variables = std::map<std::string, Variable>;

void AddVariable(std::string_view assignment, const std::string& where, Variables& variables) {
  const size_t at = assignment.find('=');
  if (at == std::string_view::npos) {
    return;
  }
  std::string_view value = Trim(assignment.substr(at + 1));
  const bool is_quoted = value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
                         value.back() == value.front();
  if (is_quoted) {
    value = value.substr(1, value.size() - 2);
  }
  variables[std::string(Trim(assignment.substr(0, at)))] = {std::string(value), where};
}

using ReadText = std::function<std::string(const std::string& path)>;

void AddFile(const ReadText& read, std::string_view path, Variables& variables) {
  path.remove_prefix(path.starts_with('-') ? 1 : 0);
  const std::string text = read(std::string(path));
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const std::string_view trimmed = Trim(line);
    if (!trimmed.starts_with('#') && !trimmed.starts_with(';')) {
      AddVariable(trimmed, fmt::format("{}:{}", path, number), variables);
    }
  }
}

// Files win over Environment=.
Variables VariablesOf(const ReadText& read, const std::vector<Setting>& settings) {
  Variables variables;
  Variables of_files;
  for (const Setting& setting : settings) {
    if (setting.key == "Environment" && setting.value.empty()) {
      variables.clear();
    } else if (setting.key == "Environment") {
      for (const std::string& word : QuotedWords(setting.value)) {
        AddVariable(word, setting.where, variables);
      }
    } else if (setting.key == "EnvironmentFile" && setting.value.empty()) {
      of_files.clear();
    } else if (setting.key == "EnvironmentFile") {
      AddFile(read, setting.value, of_files);
    }
  }
  of_files.merge(variables);
  return of_files;
}

// "$NAME" becomes the words of its value, "${NAME}" within a word its value.
void AddExpanded(const std::string& word, const std::string& where, const Variables& variables,
                 std::vector<UnitArgument>& arguments) {
  if (word.starts_with('$') && word.find_first_of("{$", 1) == std::string::npos) {
    const auto variable = variables.find(word.substr(1));
    if (variable != variables.end()) {
      for (std::string& part : QuotedWords(variable->second.value)) {
        arguments.push_back({std::move(part), variable->second.where});
      }
    }
    return;
  }
  UnitArgument argument{.text = {}, .where = where};
  for (size_t at = 0; at < word.size();) {
    const size_t end = word.compare(at, 2, "${") == 0 ? word.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      argument.text += word[at++];
      continue;
    }
    if (const auto found = variables.find(word.substr(at + 2, end - at - 2));
        found != variables.end()) {
      argument.text += found->second.value;
      argument.where = found->second.where;
    }
    at = end + 1;
  }
  arguments.push_back(std::move(argument));
}

}  // namespace

bool HasUnit(const sys::Root& host, const std::string& unit) {
  return !FileOf(host, unit).empty();
}

std::vector<UnitArgument> ParseUnitCommand(const std::vector<NamedText>& files,
                                           const ReadText& read) {
  std::vector<Setting> settings;
  for (const NamedText& file : files) {
    AddSettings(file, settings);
  }
  const Setting* command = nullptr;
  for (const Setting& setting : settings) {
    if (setting.key == "ExecStart") {
      command = setting.value.empty() ? nullptr : &setting;
    }
  }
  std::vector<UnitArgument> arguments;
  if (command == nullptr) {
    return arguments;
  }
  const Variables variables = VariablesOf(read, settings);
  for (const std::string& word : QuotedWords(command->value)) {
    AddExpanded(word, command->where, variables, arguments);
  }
  if (!arguments.empty()) {  // "-/usr/bin/dockerd": the sign is systemd's
    std::string& program = arguments.front().text;
    program.erase(0, std::min(program.find_first_not_of("-@:+!"), program.size()));
  }
  return arguments;
}

std::vector<UnitArgument> ReadUnitCommand(const sys::Root& host, const std::string& unit) {
  const std::string file = unit.empty() ? "" : FileOf(host, unit);
  if (file.empty()) {
    return {};
  }
  const ReadText read = [&host](const std::string& path) {
    const auto text = host.ReadFile(path);
    return text.ok() ? *text : std::string();
  };
  std::vector<NamedText> files = {{file, read(file)}};
  for (const auto& [name, path] : DropInsOf(host, unit)) {
    files.push_back({path, read(path)});
  }
  return ParseUnitCommand(files, read);
}

}  // namespace kgpu::engine
