#include "src/functions/service/origin.h"

#include <string_view>

#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

// "https://a.example:31113" → "a.example:31113".
std::string_view AuthorityOf(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + 3);
}

// "127.0.0.1:31113", "[::1]", "localhost:80"; "" of a client that names none.
bool IsAddressOrLocalhost(std::string_view host) {
  constexpr std::string_view kLocalhost = "localhost";
  if (host.starts_with('[') || host.empty()) {
    return true;
  }
  const std::string_view name = host.substr(0, host.rfind(':'));
  return http::EqualsIgnoringCase(name, kLocalhost) ||
         name.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool IsOfAnotherOrigin(const http::Request& request, std::string_view host) {
  const auto origin = request.headers.Find("Origin");
  const std::string_view site = request.headers.Find("Sec-Fetch-Site").value_or("none");
  return (origin && AuthorityOf(*origin) != host) || (site != "none" && site != "same-origin");
}

}  // namespace

std::string ForeignPageProblem(const http::Request& request, bool allows_any_host) {
  const std::string_view host = request.headers.Find("Host").value_or("");
  if (!allows_any_host && !IsAddressOrLocalhost(host)) {
    return fmt::format(
        "{}: an address without tokens is called by its number or as localhost: use these, or "
        "start `kgpu fn gateway` with --tokens or --allow-anonymous",
        Printable(host));
  }
  return IsOfAnotherOrigin(request, host) ? "pages of other sites may not use an address without "
                                            "tokens: start `kgpu fn gateway` "
                                            "with --tokens"
                                          : "";
}

}  // namespace kgpu::functions
