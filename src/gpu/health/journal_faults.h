// The open faults according to the journal: all that an agent without its saved state knows about
// the time before its start. Pure functions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "src/gpu/health/health_event.h"
#include "src/gpu/health/journal_text.h"

namespace kgpu::health {

// `known`, the unhealthy devices as of `since`, updated by later entries of the boot `boot_id`. A
// journal whose last boot is another one has nothing about this boot.
std::vector<OpenFault> FaultsAfter(std::vector<OpenFault> known,
                                   std::span<const JournalEntry> entries, std::string_view boot_id,
                                   WallTime since);

}  // namespace kgpu::health
