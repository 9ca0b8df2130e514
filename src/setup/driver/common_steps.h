// The steps that every distribution's plan has before and after its packages, and what a
// distribution's planner is given and gives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/setup/driver/choice.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

void AddStep(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
             Action action);
void AddCommand(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
                std::vector<std::string> argv, std::vector<std::string> undo = {});
// For the last command of the plan: modules or an image are built, also for several kernels.
void LetItBuild(Plan& plan);

// What a distribution's planner says of its packages.
struct Traits {
  std::string_view page;            // of its installation
  bool is_dkms = true;              // the module is built by DKMS, not brought built
  bool is_signed = false;           // with a key that firmware trusts already
  std::string mok_key;              // the certificate it is signed with, else; empty: DKMS's own
  bool has_fabric_manager = false;  // its packages are among those installed
  bool has_persistence = true;      // nvidia-persistenced comes with a unit
  bool is_cleared = false;          // AddClearing was called already
  bool asks_first = false;          // AskForKeyFirst did: AddClearing does not
};

// Whether this host's GPUs are joined by switches that need a fabric manager: NVSwitches on the PCI
// bus, or the boards from Blackwell on, whose switches are seen as InfiniBand devices.
bool HasFabric(const HostFacts& facts);
// The second kind, which needs a subnet manager too.
bool HasNvLink5(const HostFacts& facts);
// GPUs of one rack, beside Grace CPUs, share their memory over hosts: that takes a daemon.
bool HasRackLinks(const HostFacts& facts);
// What is wrong with this source for such a host; empty: it has what the switches need.
std::string FabricProblem(const HostFacts& facts, SourceKind source);

// nouveau or its successor has the GPUs now.
bool IsRivalLoaded(const HostFacts& facts);
// Another version of NVIDIA's modules is loaded, or the other kind of them.
bool NeedsUnload(const HostFacts& facts, const Plan& plan);
// Secure Boot is on, and the key of the modules is none that it trusts.
bool NeedsEnrolment(const HostFacts& facts, const Traits& traits);

// The path of a host's program, or where it usually is when a step before brings it.
std::string ProgramOr(const HostFacts& facts, std::string_view name, std::string_view usual);

// The command that builds the initial RAM disk of the plan's kernel again; empty: there is none.
std::vector<std::string> InitramfsCommand(const HostFacts& facts);

// nouveau is kept from being loaded at the next start.
void AddBefore(const HostFacts& facts, const Traits& traits, Plan& plan);
// The GPUs are made free: the initial RAM disk without nouveau, the key enrolled, a fresh start
// where nouveau has the GPUs, units stopped and modules of another version unloaded. As late as can
// be: until then the GPUs serve. NVIDIA's installers want it before they run.
void AddClearing(const HostFacts& facts, const Traits& traits, Plan& plan);
// The module built for the kernel, what AddClearing does, modules loaded, nodes, daemons,
// verification.
void AddAfter(const HostFacts& facts, const Traits& traits, Plan& plan);
// Device nodes of this many GPUs, of the driver itself and of nvidia-modeset, which is loaded, by
// `program`, which is nvidia-modprobe. One GPU at least.
std::vector<std::string> GpuNodesCommand(size_t gpus, std::string program);
// Those of nvidia-uvm, by a call of its own: after -u the program takes -c for where the two
// numbers of nvidia-uvm begin, and makes no node of a GPU.
std::vector<std::string> UvmNodesCommand(std::string program);
// The text of a unit of ours for nvidia-persistenced; `lines` go into its [Service] section, and it
// starts after the unit `after`.
std::string PersistenceUnit(std::string_view program, std::string_view lines = "",
                            std::string_view after = "");
// The file that keeps nouveau from being loaded.
void AddNouveauFile(const Traits& traits, Plan& plan);
// The fabric manager started, and what it needs.
void AddFabric(const HostFacts& facts, Plan& plan);

// Planners, one file each. They append the steps that bring the packages; the rest is AddBefore's
// and AddAfter's. Errors: Unimplemented, FailedPrecondition, with what to do instead.
struct Planning {
  const HostFacts& facts;
  const Choice& choice;
  Plan& plan;
  Traits& traits;
  bool has_display = false;  // Request::has_display
  bool gives_up = false;     // Request::gives_up
};
// Before another driver goes: the key is enrolled, so that it serves until a person was at the
// machine. Only a key that is here already, or that a step before brings, can be: DKMS makes its
// own with its first build.
void AskForKeyFirst(Planning& planning);
// A step that takes packages of another driver off, which come back when the plan is taken back.
void AddRemoval(Planning& planning, std::string_view id, std::string_view page,
                std::vector<std::string> names);
// For apt and dnf: packages of another version of the driver, or of the other kind of modules, are
// taken off.
void AddMigration(Planning& planning);
// Of a driver that kgpu itself installed: what holds its branch goes. dnf 5's file of locks has
// those of others, too, and is written again with the new branch instead.
void AddRelease(Planning& planning);
// Not where the same branch is held again.
void DropIdleRelease(Planning& planning);
// SUSE's headers of the plan's kernel, of its very version, together with `more`.
void AddSuseHeaders(Planning& planning, std::vector<std::string> more);
// The headers of the plan's kernel by the family's packages, and what compiles modules.
void AddHeaders(Planning& planning, std::string_view page, bool with_compilers);
// Packages and configuration of a display, after those of any family.
void AddDisplaySteps(Planning& planning);
// A plan of what is chosen, without steps.
Plan PlanOf(const HostFacts& facts, const Choice& choice);
// That there are no packages of the choice's source, and what to take instead.
Status NotServed(const Planning& planning, std::string_view instead);
// By what the choice's source is, of one of those below.
Status AddFamilySteps(Planning& planning);
Status AddDebianSteps(Planning& planning);
Status AddUbuntuSteps(Planning& planning);
Status AddRhelSteps(Planning& planning);  // Fedora's and Amazon's, too
Status AddSuseSteps(Planning& planning);
Status AddRunFileSteps(Planning& planning);
Status AddLocalRepoSteps(Planning& planning);

}  // namespace kgpu::driver
