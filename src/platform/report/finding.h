// What is wrong, how bad it is, and how to fix it: one type for everything that diagnoses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::report {

enum class Severity : uint8_t {
  kInfo,     // good to know; nothing fails because of it
  kWarning,  // works, but not as well as it could, or not for long
  kError,    // does not work as it should
};

// "info", "warning", "error".
std::string_view ToString(Severity severity);

// A change to a file that fixes a finding.
struct FileEdit {
  std::string path{};
  std::string text{};                   // the new content
  std::optional<std::string> before{};  // the old content; nothing: there was no file
  // Describes the change for people where the new content is not known here; else `text` shows it.
  std::vector<std::string> changes{};
  bool operator==(const FileEdit&) const = default;
};

// `changes`; for an edit with a text, its removed lines ("- …") and added lines ("+ …").
std::vector<std::string> ChangesOf(const FileEdit& edit);

struct Fix {
  std::vector<std::string> commands{};  // in order; "#" begins what a person has to do
  std::vector<FileEdit> edits{};        // a program can apply these; none: only a person can
  bool operator==(const Fix&) const = default;
};

struct Finding {
  std::string id{};  // stable
  Severity severity = Severity::kError;
  std::string subject{};                // what it is about; empty: the one thing that was checked
  std::string message{};                // what is wrong
  std::vector<std::string> evidence{};  // what was observed, with names and values
  Fix fix{};
  bool operator==(const Finding&) const = default;
};

// Info if there are no findings.
Severity WorstOf(std::span<const Finding> findings);
bool HasError(std::span<const Finding> findings);
// Errors first; within a severity the order stays the same.
void SortWorstFirst(std::vector<Finding>& findings);

// An entry in a table of all possible findings.
struct Kind {
  std::string_view id;                   // of its findings
  Severity severity = Severity::kError;  // of its worst findings
  std::string_view title;
  std::string_view extra{};  // for a column that only this table has
};

}  // namespace kgpu::report
