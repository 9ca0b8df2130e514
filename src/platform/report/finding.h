// What is wrong, how bad it is, and what fixes it: one type for everything that judges.
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
  kWarning,  // works, though worse than it could, or not for long
  kError,    // does not work as it should
};

// "info", "warning", "error".
std::string_view ToString(Severity severity);

// A change of a file that fixes a finding.
struct FileEdit {
  std::string path{};
  std::string text{};                   // what the file shall hold
  std::optional<std::string> before{};  // the text this was made of; nothing: there was no file
  // What changes, for people, where the whole text is not known here; else `text` says it.
  std::vector<std::string> changes{};
  bool operator==(const FileEdit&) const = default;
};

// `changes`; those of an edit with a text are its lines that go ("- …") and come ("+ …").
std::vector<std::string> ChangesOf(const FileEdit& edit);

struct Fix {
  std::vector<std::string> commands{};  // in order; "#" begins what a person has to do
  std::vector<FileEdit> edits{};        // a program can do these; none: only a person can
  bool operator==(const Fix&) const = default;
};

struct Finding {
  std::string id{};  // never changes
  Severity severity = Severity::kError;
  std::string subject{};                // what it is about; empty: the one thing that was looked at
  std::string message{};                // what is wrong
  std::vector<std::string> evidence{};  // what was seen, with names and values
  Fix fix{};
  bool operator==(const Finding&) const = default;
};

// Info where there is none.
Severity WorstOf(std::span<const Finding> findings);
bool HasError(std::span<const Finding> findings);
// Errors first; those of one severity stay in their order.
void SortWorstFirst(std::vector<Finding>& findings);

// An entry of a table of all that can be found.
struct Kind {
  std::string_view id;                   // of its findings
  Severity severity = Severity::kError;  // of its worst findings
  std::string_view title;
  std::string_view extra{};  // of a column of the table's own
};

}  // namespace kgpu::report
