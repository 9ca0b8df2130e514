// Columns of text for people: widths fit the content, two blanks between, no trailing blanks.
#pragma once

#include <string>
#include <vector>

namespace kgpu::report {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  // A row may be shorter than the header. An empty cell prints as "-"; a cell is one line, and
  // writes nothing else to a terminal.
  void AddRow(std::vector<std::string> cells);
  // Every line ends with a newline. Widths count code points, not bytes.
  std::string Render() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the header first
};

}  // namespace kgpu::report
