// HTTP requests and responses as values.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::http {

// Fields in the message's order; names compare case-insensitively.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void Add(std::string_view name, std::string_view value) { fields_.emplace_back(name, value); }
  // Removes the fields whose name `is_unwanted` accepts.
  template <typename Predicate>
  void EraseIf(const Predicate& is_unwanted) {
    std::erase_if(fields_, [&](const auto& field) { return is_unwanted(field.first); });
  }
  // Memory for so many fields at once.
  void Reserve(size_t count) { fields_.reserve(count); }
  // The first field with that name.
  std::optional<std::string_view> Find(std::string_view name) const;
  size_t Count(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }
  bool operator==(const Headers&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct Request {
  std::string method = "GET";  // as received: methods are case-sensitive
  std::string target = "/";    // as it came: "/metrics?format=text"
  // From the target: its path with escapes decoded, and its query as received. A client need not
  // set them.
  std::string path{};
  std::string query{};
  Headers headers{};
  std::string body{};
  bool is_from_unix_socket = false;
  bool has_tls = false;  // received over TLS
  std::string peer{};    // the client's IP address, without its port; empty: from a unix socket

  // The value of the first `key=value` of the query, with escapes decoded; nothing if there is no
  // such key, or the value has an invalid escape.
  std::optional<std::string> QueryValue(std::string_view key) const;
};

struct Response {
  int code = 200;
  Headers
      headers{};  // without Content-Length, Connection and Transfer-Encoding, which the writer sets
  // Bytes that precede `body`: a part that many responses share is sent without a copy.
  std::shared_ptr<const std::string> shared_front{};
  std::string body{};

  size_t body_size() const { return (shared_front ? shared_front->size() : 0) + body.size(); }
};

// "text/plain", UTF-8; adds a newline if the text does not end with one.
Response TextResponse(int code, std::string_view text);
Response JsonResponse(int code, std::string body);
// A page for people who open "/" of a port that serves programs: a title, and links to paths that
// it has, each relative. Texts are not escaped: they must be ours.
Response LinksPage(std::string_view title, std::initializer_list<std::string_view> paths);
// 404, naming what was requested.
Response UnknownPath(const Request& request);
// 405; `allowed` is a list such as "GET, HEAD".
Response WrongMethod(const Request& request, std::string_view allowed);

// Decodes %XX, and "+" if `plus_is_blank`. Errors: InvalidArgument (not followed by two hex digits,
// or they are 00).
StatusOr<std::string> Unescape(std::string_view text, bool plus_is_blank);

// Path and query of a request target in any of its forms: "/a?b", "http://host/a?b", "*",
// "host:port". Errors: InvalidArgument.
Status SplitTarget(Request& request);

// ASCII, like field names and tokens.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace kgpu::http
