#include "src/node/config/tree_reader.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "src/platform/base/strings.h"

namespace kgpu::config {

namespace json = boost::json;

void Problems::Add(doc::Position position, std::string_view text) {
  if (found_.size() == kMost) {
    ++left_out_;
    return;
  }
  found_.push_back({position, std::string(text)});
}

Status Problems::ToStatus() const {
  if (found_.empty()) {
    return OkStatus();
  }
  std::vector<Problem> sorted = found_;
  std::ranges::stable_sort(sorted, {}, [](const Problem& problem) {
    return std::tuple(problem.position.line, problem.position.column);
  });
  std::string text;
  for (const Problem& problem : sorted) {
    fmt::format_to(std::back_inserter(text), "{}{}:{}:{}: {}", text.empty() ? "" : "\n", file_,
                   problem.position.line, problem.position.column, problem.text);
  }
  if (left_out_ > 0) {
    fmt::format_to(std::back_inserter(text), "\n{}: and {} more: fix these first", file_,
                   left_out_);
  }
  return InvalidArgument("{}", text);
}

std::vector<std::string> Problems::Texts() const {
  std::vector<std::string> texts;
  std::ranges::transform(found_, std::back_inserter(texts), &Problem::text);
  return texts;
}

std::string Node::Shown() const {
  return Printable(doc::PrintLine(value_), 60);
}

void Node::Report(doc::Position position, std::string_view text) const {
  problems_.Add(position, path_.empty() ? std::string(text) : fmt::format("{}: {}", path_, text));
}

void Node::ReportUnknown(std::span<const std::string_view> known, std::string_view name) const {
  const std::vector<std::string_view> names(known.begin(), known.end());
  if (const auto nearest = Nearest(name, names)) {
    KeyError("unknown key, did you mean \"{}\"?", *nearest);
  } else {
    KeyError("unknown key, known keys are {}", fmt::join(known, ", "));
  }
}

Node Node::Child(const json::value& value, size_t index, std::string path) const {
  return {value, place_.children.at(index), std::move(path), problems_, observer_};
}

void Node::ForAnyField(const ReadField& read) const {
  if (observer_ != nullptr) {
    observer_->OnAnyFields(path_);
  }
  VisitFields(read);
}

void Node::VisitFields(const ReadField& read) const {
  const json::object* fields = value_.if_object();
  if (fields == nullptr) {
    Error("{} must be a map", Shown());
    return;
  }
  size_t index = 0;
  for (const auto& field : *fields) {
    const std::string_view name(field.key().data(), field.key().size());
    const std::string shown = Printable(name, 60);
    read(name,
         Child(field.value(), index++, path_.empty() ? shown : fmt::format("{}.{}", path_, shown)));
  }
}

void Node::ForEachField(std::span<const std::string_view> known, const ReadField& read) const {
  if (observer_ != nullptr) {
    observer_->OnFields(path_, known);
  }
  VisitFields([&](std::string_view name, const Node& field) {
    if (std::ranges::find(known, name) == known.end()) {
      field.ReportUnknown(known, name);
    } else if (field.is_null()) {
      field.KeyError("has no value: set one, or remove the key");
    } else {
      read(name, field);
    }
  });
}

void Node::ForEachFieldLoosely(std::span<const std::string_view> known, const ReadField& read,
                               const Unknown& unknown) const {
  if (observer_ != nullptr) {
    observer_->OnFields(path_, known);
  }
  VisitFields([&](std::string_view name, const Node& field) {
    auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      found = std::ranges::find_if(
          known, [&](std::string_view word) { return ToLower(word) == ToLower(name); });
    }
    if (found == known.end()) {
      unknown(Nearest(name, {known.begin(), known.end()}).value_or(""), field);
    } else if (!field.is_null()) {
      read(*found, field);
    }
  });
}

void Node::ForOneOrMany(const ReadItem& read) const {
  if (is_list()) {
    ForEachItem(read);
  } else {
    read(*this);
  }
}

void Node::ForEachItem(const ReadItem& read) const {
  if (observer_ != nullptr) {
    observer_->OnItems(path_);
  }
  const json::array* items = value_.if_array();
  if (items == nullptr) {
    Error("{} must be a list", Shown());
    return;
  }
  for (size_t i = 0; i < items->size(); ++i) {
    read(Child((*items)[i], i, fmt::format("{}[{}]", path_, i)));
  }
}

std::optional<std::string> Node::String() const {
  if (observer_ != nullptr) {
    observer_->OnString(path_);
  }
  return Text();
}

std::optional<std::string> Node::Text() const {
  const json::string* text = value_.if_string();
  if (text == nullptr) {
    Error("{} must be a string{}", Shown(),
          value_.is_structured() || value_.is_null() ? "" : ": put it in quotes");
    return std::nullopt;
  }
  return std::string(text->data(), text->size());
}

std::optional<std::string> Node::CheckedString(const CheckText& check) const {
  std::optional<std::string> text = String();
  if (!text) {
    return std::nullopt;
  }
  if (const Status status = check(*text); !status.ok()) {
    Error("{}", Message(status));
    return std::nullopt;
  }
  return text;
}

std::vector<std::string> Node::Strings() const {
  std::vector<std::string> texts;
  ForOneOrMany([&texts](const Node& item) {
    if (auto text = item.String()) {
      texts.push_back(*std::move(text));
    }
  });
  return texts;
}

std::optional<bool> Node::Bool() const {
  if (observer_ != nullptr) {
    observer_->OnBool(path_);
  }
  const bool* truth = value_.if_bool();
  if (truth == nullptr) {
    Error("{} must be true or false", Shown());
    return std::nullopt;
  }
  return *truth;
}

std::optional<uint64_t> Node::Number(uint64_t low, uint64_t high) const {
  if (observer_ != nullptr) {
    observer_->OnNumber(path_, low, high);
  }
  const bool is_number = value_.is_int64() ? value_.get_int64() >= 0 : value_.is_uint64();
  const uint64_t number = is_number ? value_.to_number<uint64_t>() : 0;
  if (!is_number || number < low || number > high) {
    Error("{} must be an integer from {} to {}", Shown(), low, high);
    return std::nullopt;
  }
  return number;
}

std::optional<size_t> Node::IndexOf(const std::vector<std::string_view>& names) const {
  if (observer_ != nullptr) {
    observer_->OnWords(path_, names);
  }
  const std::optional<std::string> text = Text();
  if (!text) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(names, *text);
  if (found == names.end()) {
    const auto nearest = Nearest(*text, names);
    Error("{} must be one of {}{}", Shown(), fmt::join(names, ", "),
          nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : "");
    return std::nullopt;
  }
  return static_cast<size_t>(found - names.begin());
}

}  // namespace kgpu::config
