// `kgpu top` at a terminal: draws a source, takes keys and signals, asks again.
#pragma once

#include "src/cli/top/source.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/terminal/line.h"

namespace kgpu::top {

// Until `q`, beginning with the choices `first`. Standard input and output are a terminal, which is
// restored at the end and while the process is stopped. SIGINT, SIGTERM and SIGHUP end it, and then
// the process. Errors: those of Screen and of the loop; the terminal is gone.
Status RunSession(EpollLoop& loop, Source& source, const terminal::Look& look, ListState first);

}  // namespace kgpu::top
