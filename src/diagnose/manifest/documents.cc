#include "src/diagnose/manifest/documents.h"

#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

bool IsSeparator(std::string_view line) {
  if (!line.starts_with("---") && !line.starts_with("...")) {
    return false;
  }
  // "--- {a: b}" is a part of its document.
  const std::string_view rest = Trim(line.substr(3));
  const bool is_alone = line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r';
  return is_alone && (rest.empty() || rest.starts_with('#'));
}

bool IsSecondHead(std::string_view line) {
  return line.starts_with("--- ");
}

bool HoldsNothing(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view bare = Trim(line);
    if (!bare.empty() && !bare.starts_with('#') && !line.starts_with('%')) {
      return false;
    }
  }
  return true;
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  std::vector<Document> Split() {
    while (at_ < text_.size()) {
      const size_t newline = text_.find('\n', at_);
      const size_t end = newline == std::string_view::npos ? text_.size() : newline + 1;
      Line(text_.substr(at_, newline == std::string_view::npos ? newline : newline - at_), end);
      at_ = end;
      ++lines_;
    }
    Finish(text_.size());
    return std::move(documents_);
  }

 private:
  void Line(std::string_view line, size_t end) {
    if (IsSeparator(line)) {
      Finish(at_);
      before_ = at_;
      begin_ = end;
      first_line_ = lines_ + 1;
    } else if (IsSecondHead(line)) {
      Finish(at_);
      before_ = at_;
      begin_ = at_;
      first_line_ = lines_;
    }
  }

  void Finish(size_t end) {
    Document document;
    document.before = text_.substr(before_, begin_ - before_);
    document.text = text_.substr(begin_, end - begin_);
    document.lines_before = first_line_;
    if (!HoldsNothing(document.text)) {
      document.number = ++number_;
    }
    if (!document.before.empty() || !document.text.empty()) {
      documents_.push_back(document);
    }
    before_ = end;
    begin_ = end;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t lines_ = 0;
  size_t before_ = 0;  // where what parts it begins
  size_t begin_ = 0;   // where the document begins
  size_t first_line_ = 0;
  size_t number_ = 0;
  std::vector<Document> documents_;
};

}  // namespace

std::vector<Document> SplitDocuments(std::string_view text) {
  return Splitter(text).Split();
}

}  // namespace kgpu::manifest
