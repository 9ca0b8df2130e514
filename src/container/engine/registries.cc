#include "src/container/engine/registries.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

constexpr std::string_view kHeader =
    "# Written by kgpu runtime configure; kgpu runtime revert removes it.\n";

// Text that is safe in TOML quotes and as a folder name: no quote, no slash, no backslash.
bool IsHostAndPort(std::string_view text) {
  return !text.empty() && text.size() < 260 && text.front() != '.' &&
         std::ranges::all_of(
             text,
             [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || c == '_';
             });
}

std::string_view WithoutScheme(std::string_view url) {
  const size_t at = url.find("://");
  return at == std::string_view::npos ? url : url.substr(at + 3);
}

bool IsUrl(std::string_view text) {
  const std::string_view rest = WithoutScheme(text);
  return (text.starts_with("http://") || text.starts_with("https://")) &&
         IsHostAndPort(rest.substr(0, rest.find('/'))) && std::ranges::all_of(rest, [](char c) {
           return c > ' ' && c < '\x7f' && c != '"' && c != '\\';
         });
}

Status CheckInsecure(const std::string& registry, bool takes_networks) {
  std::string_view host = registry;
  if (const size_t slash = host.find('/'); slash != std::string_view::npos) {
    if (!takes_networks || !ParseUint(host.substr(slash + 1))) {
      return InvalidArgument("--insecure-registry: \"{}\" must be HOST or HOST:PORT{}",
                             Printable(registry, 80),
                             takes_networks ? ", or a network such as 10.0.0.0/8" : "");
    }
    host = host.substr(0, slash);
  }
  if (!IsHostAndPort(host)) {
    return InvalidArgument("--insecure-registry: \"{}\" must be HOST or HOST:PORT, without http://",
                           Printable(registry, 80));
  }
  return OkStatus();
}

std::string MirrorHosts(const RegistrySettings& settings) {
  std::string text(kHeader);
  text += "server = \"https://registry-1.docker.io\"\n";
  for (const std::string& mirror : settings.mirrors) {
    fmt::format_to(std::back_inserter(text),
                   "\n[host.\"{}\"]\n  capabilities = [\"pull\", \"resolve\"]\n", mirror);
  }
  return text;
}

// Tries TLS without verification, then no TLS, as Docker does with such a registry.
std::string InsecureHosts(const std::string& registry) {
  return fmt::format(
      "{0}server = \"https://{1}\"\n\n"
      "[host.\"https://{1}\"]\n  capabilities = [\"pull\", \"resolve\", \"push\"]\n"
      "  skip_verify = true\n\n"
      "[host.\"http://{1}\"]\n  capabilities = [\"pull\", \"resolve\", \"push\"]\n",
      kHeader, registry);
}

}  // namespace

Status CheckRegistries(const RegistrySettings& settings, bool takes_networks) {
  for (const std::string& registry : settings.insecure) {
    RETURN_IF_ERROR(CheckInsecure(registry, takes_networks));
  }
  for (const std::string& mirror : settings.mirrors) {
    if (!IsUrl(mirror)) {
      return InvalidArgument(
          "--registry-mirror: \"{}\" must be a URL such as https://mirror.example",
          Printable(mirror, 80));
    }
  }
  return OkStatus();
}

std::vector<TextFile> ContainerdHosts(const RegistrySettings& settings, std::string_view folder) {
  std::vector<TextFile> files;
  if (!settings.mirrors.empty()) {
    files.push_back({fmt::format("{}/docker.io/hosts.toml", folder), MirrorHosts(settings)});
  }
  for (const std::string& registry : settings.insecure) {
    files.push_back({fmt::format("{}/{}/hosts.toml", folder, registry), InsecureHosts(registry)});
  }
  return files;
}

TextFile ContainersRegistries(const RegistrySettings& settings) {
  std::string text(kHeader);
  for (const std::string& registry : settings.insecure) {
    fmt::format_to(std::back_inserter(text), "\n[[registry]]\nlocation = \"{}\"\ninsecure = true\n",
                   registry);
  }
  if (!settings.mirrors.empty()) {
    text += "\n[[registry]]\nlocation = \"docker.io\"\n";
  }
  for (const std::string& mirror : settings.mirrors) {
    fmt::format_to(std::back_inserter(text), "\n[[registry.mirror]]\nlocation = \"{}\"\n{}",
                   WithoutScheme(mirror), mirror.starts_with("http://") ? "insecure = true\n" : "");
  }
  return {"/etc/containers/registries.conf.d/99-kgpu.conf", std::move(text)};
}

}  // namespace kgpu::engine
