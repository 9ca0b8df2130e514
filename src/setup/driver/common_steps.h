// The steps before and after the packages in every distribution's plan, and the interface of the
// distributions' planners.
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
// Adjusts the plan's last command: it builds modules or an image, possibly for several kernels.
void LetItBuild(Plan& plan);

// What a distribution's planner says about its packages.
struct Traits {
  std::string_view page;            // documentation of its installation
  bool is_dkms = true;              // DKMS builds the module; false: it comes prebuilt
  bool is_signed = false;           // with a key that firmware already trusts
  std::string mok_key;              // else, the certificate it is signed with; empty: DKMS's own
  bool has_fabric_manager = false;  // the installed packages include it
  bool has_persistence = true;      // nvidia-persistenced comes with a unit
  bool is_cleared = false;          // AddClearing has already been called
  bool asks_first = false;          // AskForKeyFirst did: AddClearing does not
};

// Whether switches that need a fabric manager connect this host's GPUs: NVSwitches on the PCI bus,
// or boards from Blackwell on, whose switches appear as InfiniBand devices.
bool HasFabric(const HostFacts& facts);
// The second kind, which also needs a subnet manager.
bool HasNvLink5(const HostFacts& facts);
// GPUs of one rack, with Grace CPUs, share their memory across hosts: this needs a daemon.
bool HasRackLinks(const HostFacts& facts);
// Why this source does not suit such a host; empty: it has everything for the switches.
std::string FabricProblem(const HostFacts& facts, SourceKind source);

// Whether nouveau or its successor holds the GPUs now.
bool IsRivalLoaded(const HostFacts& facts);
// Whether another version or the other kind of NVIDIA's modules is loaded.
bool NeedsUnload(const HostFacts& facts, const Plan& plan);
// Whether Secure Boot is on and does not trust the modules' key.
bool NeedsEnrolment(const HostFacts& facts, const Traits& traits);

// The path of a host's program, or its usual path if an earlier step installs it.
std::string ProgramOr(const HostFacts& facts, std::string_view name, std::string_view usual);

// The command that rebuilds the initial RAM disk of the plan's kernel; empty: there is none.
std::vector<std::string> InitramfsCommand(const HostFacts& facts);

// Prevents nouveau from being loaded at the next boot.
void AddBefore(const HostFacts& facts, const Traits& traits, Plan& plan);
// Frees the GPUs: initial RAM disk without nouveau, key enrolment, a restart if nouveau holds the
// GPUs, units stopped and modules of another version unloaded. As late as possible, since the GPUs
// can be used until then. NVIDIA's installers require it before they run.
void AddClearing(const HostFacts& facts, const Traits& traits, Plan& plan);
// The module built for the kernel, everything from AddClearing, modules loaded, nodes, daemons,
// verification.
void AddAfter(const HostFacts& facts, const Traits& traits, Plan& plan);
// Creates the device nodes of this many GPUs (at least one), of the driver itself and of
// nvidia-modeset, and loads the latter, by `program`, which is nvidia-modprobe.
std::vector<std::string> GpuNodesCommand(size_t gpus, std::string program);
// Those of nvidia-uvm, in a separate call: after -u the program takes -c as the start of
// nvidia-uvm's two minors, and creates no GPU node.
std::vector<std::string> UvmNodesCommand(std::string program);
// The text of our unit for nvidia-persistenced; `lines` are added to its [Service] section, and it
// starts after the unit `after`.
std::string PersistenceUnit(std::string_view program, std::string_view lines = "",
                            std::string_view after = "");
// The file that prevents nouveau from being loaded.
void AddNouveauFile(const Traits& traits, Plan& plan);
// Starts the fabric manager, and what it needs.
void AddFabric(const HostFacts& facts, Plan& plan);

// Planners, one file each. They append the steps for the packages; AddBefore and AddAfter add the
// rest. Errors: FailedPrecondition, with what to do instead.
struct Planning {
  const HostFacts& facts;
  const Choice& choice;
  Plan& plan;
  Traits& traits;
  bool has_display = false;  // Request::has_display
  bool gives_up = false;     // Request::gives_up
};
// Before another driver is removed: enrols the key, so that the old driver keeps working until a
// person was at the machine. Only possible with a key that exists already, or that an earlier step
// installs: DKMS creates its own during its first build.
void AskForKeyFirst(Planning& planning);
// A step that removes packages of another driver; they come back when the plan is reverted.
void AddRemoval(Planning& planning, std::string_view id, std::string_view page,
                std::vector<std::string> names);
// For apt and dnf: removes packages of another driver version, or of the other kind of
// modules.
void AddMigration(Planning& planning);
// SUSE's headers for exactly the plan's kernel version, together with `more`.
void AddSuseHeaders(Planning& planning, std::vector<std::string> more);
// The headers of the plan's kernel from the family's packages, and what compiles modules.
void AddHeaders(Planning& planning, std::string_view page, bool with_compilers);
// Packages and configuration for a display, after those of any family.
void AddDisplaySteps(Planning& planning);
// A plan of the choice, without steps.
Plan PlanOf(const HostFacts& facts, const Choice& choice);
// Says that the choice's source has no packages, and what to use instead.
Status NotServed(const Planning& planning, std::string_view instead);
// Calls one of those below, by the choice's source.
Status AddFamilySteps(Planning& planning);
Status AddDebianSteps(Planning& planning);
Status AddUbuntuSteps(Planning& planning);
Status AddRhelSteps(Planning& planning);  // also Fedora's and Amazon's
Status AddSuseSteps(Planning& planning);
Status AddRunFileSteps(Planning& planning);
Status AddLocalRepoSteps(Planning& planning);

}  // namespace kgpu::driver
