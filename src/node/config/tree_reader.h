// Reads a document's tree field by field and collects errors, each with its position: shared by the
// readers of this folder and that of GpuPolicy.
#pragma once

#include <boost/json/value.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/read_observer.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/located.h"

namespace kgpu::config {

// All errors of one file.
class Problems {
 public:
  // More would bury the first.
  static constexpr size_t kMost = 20;

  explicit Problems(std::string_view file) : file_(file) {}

  void Add(doc::Position position, std::string_view text);
  bool empty() const { return found_.empty(); }
  // Of all errors, also those that are not kept.
  size_t count() const { return found_.size() + left_out_; }
  // "file:line:column: text" for each, sorted by position; OK if there are none.
  Status ToStatus() const;
  // Only the texts, for a tree without positions.
  std::vector<std::string> Texts() const;

 private:
  struct Problem {
    doc::Position position;
    std::string text;
  };
  std::string file_;
  std::vector<Problem> found_;
  size_t left_out_ = 0;
};

// A word in a file and its meaning.
template <typename Enum>
struct Word {
  std::string_view name;
  Enum value;
};

// One value of the tree, its position, and the path of fields to it. Borrows everything except the
// path. A reader reports an error and returns nothing.
class Node {
 public:
  // `observer`, which may be null, receives what is expected of this value and those below it.
  Node(const doc::Located& document, Problems& problems, ReadObserver* observer = nullptr)
      : Node(document.root, document.place, "", problems, observer) {}

  // The same value, whose errors go elsewhere: for a part of a document that may fail alone.
  Node With(Problems& problems) const { return {value_, place_, path_, problems, observer_}; }

  const std::string& path() const { return path_; }
  doc::Position position() const { return place_.value; }
  doc::Position key_position() const { return place_.key; }

  bool is_null() const { return value_.is_null(); }
  bool is_bool() const { return value_.is_bool(); }
  bool is_number() const { return value_.is_number(); }
  bool is_string() const { return value_.is_string(); }
  bool is_list() const { return value_.is_array(); }
  bool is_map() const { return value_.is_object(); }
  size_t size() const { return place_.children.size(); }
  // The value on one line, truncated, for people.
  std::string Shown() const;

  template <typename... Args>
  void Error(fmt::format_string<Args...> format, Args&&... args) const {
    Report(place_.value, fmt::format(format, std::forward<Args>(args)...));
  }
  // The same at the key.
  template <typename... Args>
  void KeyError(fmt::format_string<Args...> format, Args&&... args) const {
    Report(place_.key, fmt::format(format, std::forward<Args>(args)...));
  }

  // Calls `read` for each field of a map. Reports fields that are not in `known`, or have no
  // value.
  using ReadField = std::function<void(std::string_view name, const Node& field)>;
  void ForEachField(std::span<const std::string_view> known, const ReadField& read) const;
  // Calls `read` for each field, whatever its name and value.
  void ForAnyField(const ReadField& read) const;
  // Like Go's decoders: a name that only differs in case counts as the known one, a field without a
  // value is skipped, and an unknown one goes to `unknown` with the nearest known (or "").
  using Unknown = std::function<void(std::string_view nearest, const Node& field)>;
  void ForEachFieldLoosely(std::span<const std::string_view> known, const ReadField& read,
                           const Unknown& unknown) const;
  // Calls `read` for each item of a list, or for the value itself if it is no list.
  using ReadItem = std::function<void(const Node& item)>;
  void ForOneOrMany(const ReadItem& read) const;
  // Calls `read` for each item; reports anything but a list.
  void ForEachItem(const ReadItem& read) const;

  std::optional<std::string> String() const;
  // Accepts or rejects a text.
  using CheckText = std::function<Status(std::string_view text)>;
  std::optional<std::string> CheckedString(const CheckText& check) const;
  // A text or a list of texts.
  std::vector<std::string> Strings() const;
  std::optional<bool> Bool() const;
  std::optional<uint64_t> Number(uint64_t low, uint64_t high) const;

  template <typename Enum>
  std::optional<Enum> OneOf(std::span<const Word<Enum>> words) const {
    std::vector<std::string_view> names;
    for (const Word<Enum>& word : words) {
      names.push_back(word.name);
    }
    const std::optional<size_t> index = IndexOf(names);
    return index ? std::optional(words[*index].value) : std::nullopt;
  }

  // The same for one word or a list of them; reports duplicates.
  template <typename Enum>
  std::vector<Enum> EachOneOf(std::span<const Word<Enum>> words) const {
    std::vector<Enum> values;
    ForOneOrMany([&](const Node& item) {
      const std::optional<Enum> value = item.OneOf<Enum>(words);
      if (!value) {
        return;
      }
      if (std::ranges::find(values, *value) != values.end()) {
        item.Error("{} is a duplicate: remove one", item.Shown());
      }
      values.push_back(*value);
    });
    return values;
  }

  // The value of a result; reports an error here.
  template <typename T>
  std::optional<T> Accept(StatusOr<T> result) const {
    if (!result.ok()) {
      Report(place_.value, Message(result.status()));
      return std::nullopt;
    }
    return *std::move(result);
  }

 private:
  Node(const boost::json::value& value, const doc::Place& place, std::string path,
       Problems& problems, ReadObserver* observer)
      : value_(value),
        place_(place),
        path_(std::move(path)),
        problems_(problems),
        observer_(observer) {}

  void Report(doc::Position position, std::string_view text) const;
  void ReportUnknown(std::span<const std::string_view> known, std::string_view name) const;
  // The index of the value in `names`.
  std::optional<size_t> IndexOf(const std::vector<std::string_view>& names) const;
  std::optional<std::string> Text() const;
  void VisitFields(const ReadField& read) const;
  Node Child(const boost::json::value& value, size_t index, std::string path) const;

  const boost::json::value& value_;
  const doc::Place& place_;
  std::string path_;
  Problems& problems_;
  ReadObserver* observer_;
};

// Leaves the field unchanged if the reader returned nothing.
template <typename T>
void Set(T& field, std::optional<T> value) {
  if (value) {
    field = *std::move(value);
  }
}

// The word for a value.
template <typename Enum>
constexpr std::string_view NameOf(std::span<const Word<Enum>> words,
                                  std::type_identity_t<Enum> value) {
  for (const Word<Enum>& word : words) {
    if (word.value == value) {
      return word.name;
    }
  }
  return "";
}

}  // namespace kgpu::config
