#include "src/platform/net/http/message.h"

#include <algorithm>
#include <cstdint>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::http {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::ranges::equal(a, b, {}, &Lower, &Lower);
}

std::optional<std::string_view> Headers::Find(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (EqualsIgnoringCase(key, name)) {
      return value;
    }
  }
  return std::nullopt;
}

size_t Headers::Count(std::string_view name) const {
  return static_cast<size_t>(std::ranges::count_if(
      fields_, [&](const auto& field) { return EqualsIgnoringCase(field.first, name); }));
}

std::optional<std::string> Request::QueryValue(std::string_view key) const {
  for (const std::string_view part : Split(query, '&')) {
    const size_t equals = std::min(part.find('='), part.size());
    const StatusOr<std::string> name = Unescape(part.substr(0, equals), true);
    if (name.ok() && *name == key) {
      StatusOr<std::string> value = Unescape(part.substr(std::min(equals + 1, part.size())), true);
      return value.ok() ? std::optional(*std::move(value)) : std::nullopt;
    }
  }
  return std::nullopt;
}

Response TextResponse(int code, std::string_view text) {
  Response response{.code = code,
                    .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                    .body = std::string(text)};
  if (!text.ends_with('\n')) {
    response.body += '\n';
  }
  return response;
}

Response JsonResponse(int code, std::string body) {
  return {.code = code, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

Response LinksPage(std::string_view title, std::initializer_list<std::string_view> paths) {
  std::string body = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta "
      "charset=\"utf-8\"><title>{0}</title>\n<h1>{0}</h1>\n<ul>\n",
      title);
  for (const std::string_view path : paths) {
    body += fmt::format("<li><a href=\"{0}\">{0}</a></li>\n", path);
  }
  body += "</ul>\n</html>\n";
  return {.code = 200,
          .headers = {{"Content-Type", "text/html; charset=utf-8"},
                      {"Content-Security-Policy", "default-src 'none'"}},
          .body = std::move(body)};
}

Response UnknownPath(const Request& request) {
  return TextResponse(404, fmt::format("{}: not found", Printable(request.path)));
}

Response WrongMethod(const Request& request, std::string_view allowed) {
  Response response =
      TextResponse(405, fmt::format("{}: method {} not allowed: use {}", Printable(request.path),
                                    Printable(request.method), allowed));
  response.headers.Add("Allow", allowed);
  return response;
}

StatusOr<std::string> Unescape(std::string_view text, bool plus_is_blank) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += plus_is_blank && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    // ParseUint also takes "0x": that is no pair of digits.
    const std::optional<uint64_t> byte =
        digits.size() == 2 && Lower(digits[1]) != 'x' ? ParseUint(digits, 16) : std::nullopt;
    if (!byte || *byte == 0) {
      return InvalidArgument("{}: % must be followed by two hex digits other than 00",
                             Printable(text));
    }
    plain += static_cast<char>(*byte);
    i += 2;
  }
  return plain;
}

Status SplitTarget(Request& request) {
  std::string_view target = request.target;
  if (const size_t scheme = target.find("://"); !target.starts_with('/') && scheme != target.npos) {
    const size_t path = target.find_first_of("/?", scheme + 3);
    target = path == target.npos ? "/" : target.substr(path);
  }
  const size_t question = std::min(target.find('?'), target.size());
  request.query = target.substr(std::min(question + 1, target.size()));
  ASSIGN_OR_RETURN(request.path, Unescape(target.substr(0, question), false));
  if (request.path.empty()) {
    request.path = "/";
  }
  return OkStatus();
}

}  // namespace kgpu::http
