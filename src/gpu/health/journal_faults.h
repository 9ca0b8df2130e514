// Which faults stand, as far as the journal tells: what an agent that could not keep its own memory
// knows of the time before it. Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/gpu/health/health_event.h"
#include "src/gpu/health/journal_text.h"

namespace kgpu::health {

// `known`, the unhealthy devices as of `since`, and what the journal tells after that of the boot
// `boot_id`. A journal whose last boot is another one tells nothing of this boot.
std::vector<OpenFault> FaultsAfter(std::vector<OpenFault> known,
                                   std::span<const JournalEntry> entries, std::string_view boot_id,
                                   WallTime since);

}  // namespace kgpu::health
