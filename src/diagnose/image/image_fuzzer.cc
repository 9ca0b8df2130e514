// The first byte selects what the rest is: configuration of an image or of a bundle, answer of an
// engine, layer, path. Every input leads to one verdict, made of lines of text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/image/config.h"
#include "src/diagnose/image/layers.h"
#include "src/diagnose/image/verdict.h"
#include "src/platform/compress/byte_source.h"

namespace {

namespace image = kgpu::image;

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void CheckLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    Require(line.size() < 20'000);
    Require(std::ranges::none_of(line, [](char c) { return c >= 0 && c < ' '; }));
  }
}

void Read(char kind, std::string_view text, image::ImageFacts& facts) {
  switch (kind) {
    case 'c':
      (void)image::ReadImageConfig(text, "config", facts);
      return;
    case 'b':
      (void)image::ReadBundleConfig(text, "config.json", facts);
      return;
    case 'i':
      (void)image::ReadInspect(text, "inspect", facts);
      return;
    case 'r':
      (void)image::ReadCriImage(text, "inspecti", facts);
      return;
    case 'p':
      facts.libraries.resize(1);
      (void)image::ReadLibraryPath(text, facts.libraries.front());
      return;
    default:
      break;
  }
  image::LibraryCollector collector;
  (void)image::ReadLayer(std::make_unique<kgpu::compress::TextSource>(text), collector);
  facts.libraries = collector.Take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  image::ImageFacts facts;
  Read(text[0], text.substr(1), facts);
  image::HostFacts host;
  host.driver = {{535, 104, 5}};
  host.architecture = "amd64";
  host.gpus = {{"GPU 0", kgpu::cuda::ComputeCapability{8, 0}, "nvidia", true}};
  const image::ImageVerdict verdict = image::Judge(facts, host);
  CheckLines(verdict.finding.evidence);
  CheckLines(verdict.finding.fix.commands);
  CheckLines(verdict.notes);
  Require(verdict.finding.severity == kgpu::report::Severity::kInfo ||
          verdict.answer > image::Answer::kRunsByMinor || verdict.is_refused);
  return 0;
}
