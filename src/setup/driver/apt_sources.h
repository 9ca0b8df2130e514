// The repositories that apt uses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::driver {

// One repository: a URI, a suite and its components.
struct AptSource {
  std::string file;  // that lists it
  std::string uri;
  std::string suite;
  std::vector<std::string> components;
  std::string signed_by;  // path or fingerprint; empty: any key that apt trusts
  bool operator==(const AptSource&) const = default;
};

// The "deb" lines of a .list file. Skips other and invalid lines. Source: sources.list(5),
// "ONE-LINE-STYLE FORMAT".
std::vector<AptSource> ParseAptList(std::string_view text, std::string_view file);
// The enabled paragraphs of a .sources file whose types include "deb"; one entry per URI and suite.
// Source: sources.list(5), "DEB822-STYLE FORMAT".
std::vector<AptSource> ParseAptParagraphs(std::string_view text, std::string_view file);

// From /etc/apt/sources.list and the files in sources.list.d. Skips what is unreadable.
std::vector<AptSource> ReadAptSources(const sys::Root& host);

}  // namespace kgpu::driver
