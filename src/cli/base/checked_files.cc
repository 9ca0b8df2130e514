#include "src/cli/base/checked_files.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {

namespace json = boost::json;

namespace {

bool AreValid(std::span<const CheckedFile> files) {
  return std::ranges::all_of(files, [](const CheckedFile& file) { return file.problems.empty(); });
}

}  // namespace

std::vector<std::string> ProblemsOf(std::string_view text) {
  std::vector<std::string> problems;
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.empty()) {
      problems.emplace_back(line);
    }
  }
  return problems;
}

std::string CheckedFilesText(std::span<const CheckedFile> files) {
  std::string text;
  for (const CheckedFile& file : files) {
    if (file.problems.empty()) {
      text += fmt::format("{}: OK: {}\n", file.name, file.summary);
    }
    for (const std::string& problem : file.problems) {
      text += problem + "\n";
    }
    for (const std::string& hint : file.hints) {
      text += fmt::format("{} (warning)\n", hint);
    }
  }
  return text;
}

json::value CheckedFilesJson(std::span<const CheckedFile> files) {
  json::array list;
  for (const CheckedFile& file : files) {
    list.push_back(json::object{{"file", doc::View(file.name)},
                                {"valid", file.problems.empty()},
                                {"summary", doc::View(file.summary)},
                                {"problems", doc::Texts(file.problems)},
                                {"warnings", doc::Texts(file.hints)}});
  }
  return json::object{{"valid", AreValid(files)}, {"files", std::move(list)}};
}

StatusOr<ExitCode> PrintCheckedFiles(std::span<const CheckedFile> files, OutputFormat format) {
  RETURN_IF_ERROR(PrintAs(format, CheckedFilesText(files), CheckedFilesJson(files)));
  return AreValid(files) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

}  // namespace kgpu::cli
