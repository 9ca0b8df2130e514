#include "src/container/engine/proxies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

// For an error: without the user and the password that a URL may hold.
std::string Shown(std::string_view text) {
  const size_t at = text.rfind('@');
  return at == std::string_view::npos ? Printable(text, 80)
                                      : fmt::format("…{}", Printable(text.substr(at), 80));
}

Status CheckText(std::string_view flag, std::string_view text) {
  // Needs no quotes, neither for systemd nor for a shell into which the line is copied.
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\' && c != '\''; });
  return is_plain ? OkStatus()
                  : InvalidArgument(
                        "{}: \"{}\" contains a space, a quote, a backslash or a non-ASCII "
                        "character: percent-encode it (%20, %22, …)",
                        flag, Shown(text));
}

Status CheckUrl(std::string_view flag, std::string_view text) {
  const bool is_url = text.empty() || text.starts_with("http://") || text.starts_with("https://") ||
                      text.starts_with("socks5://");
  if (!is_url) {
    return InvalidArgument("{}: \"{}\" must be a URL such as http://proxy.example:3128", flag,
                           Shown(text));
  }
  return CheckText(flag, text);
}

// systemd expands %-specifiers in Environment=.
std::string Escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '%' ? "%%" : std::string(1, c);
  }
  return escaped;
}

}  // namespace

bool Proxies::HasSecret() const {
  return http.find('@') != std::string::npos || https.find('@') != std::string::npos;
}

Status CheckProxies(const Proxies& proxies) {
  RETURN_IF_ERROR(CheckUrl("--http-proxy", proxies.http));
  RETURN_IF_ERROR(CheckUrl("--https-proxy", proxies.https));
  return CheckText("--no-proxy", proxies.none);
}

TextFile ProxyDropIn(std::string_view unit, const Proxies& proxies) {
  std::string text =
      "# Written by kgpu runtime configure; kgpu runtime revert removes it.\n[Service]\n";
  const std::array<std::pair<std::string_view, std::string_view>, 3> variables = {
      {{"HTTP_PROXY", proxies.http}, {"HTTPS_PROXY", proxies.https}, {"NO_PROXY", proxies.none}}};
  for (const auto& [name, value] : variables) {
    if (!value.empty()) {
      fmt::format_to(std::back_inserter(text), "Environment=\"{}={}\"\n", name, Escape(value));
    }
  }
  return {fmt::format("/etc/systemd/system/{}.d/kgpu-proxy.conf", unit), std::move(text)};
}

}  // namespace kgpu::engine
