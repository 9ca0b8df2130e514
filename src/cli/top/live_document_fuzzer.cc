// Any answer is an error or a view whose lines fit and send nothing but text to a terminal.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/top/frame.h"
#include "src/cli/top/live_document.h"
#include "src/cli/top/node_view.h"
#include "src/platform/base/strings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::top;  // NOLINT(google-build-using-namespace): one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = ReadLiveDocument(text);
  if (!document.ok()) {
    return 0;
  }
  const kgpu::terminal::Look look = {.is_utf8 = (size & 1U) != 0, .has_color = false};
  const kgpu::terminal::Size screen = {.columns = 40 + size % 160, .rows = 10};
  State state;
  const View view = NodeView(*document, state.list, ColumnsFor(screen), look);
  for (const auto& line : FrameOf(view, state, screen, look)) {
    if (line.width() > screen.columns || kgpu::Printable(line.text(), 1 << 20) != line.text()) {
      std::abort();
    }
  }
  for (const LiveGpu& gpu : document->gpus) {
    GpuPage(*document, gpu.uuid, look);
  }
  return 0;
}
