// What the tactics of a device propose for a problem, and the work that is done for proposals before they are measured.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compile/assignment.h"

namespace tenon::compile {

class TimingCache;

struct Proposal {
  Option option;  // without machine code until that is wanted
  const Tactic* tactic = nullptr;
  std::string key;              // in timing caches
  std::string failure;          // why its machine code could not be made
  bool remembered = true;       // in timing caches; plugins without an identity there are timed in each build
  uint64_t code = 0;            // Tactic::codeHash(), where announced
  std::string complaint{};      // why it did not run when it was measured
  bool knowsWorkspace = false;  // the option's workspace is what its kernel asked for
};

struct Proposals {
  std::vector<Proposal> list;
  std::string refusals;  // of the tactics that have none, a line each
};

// Asks every tactic. Thread-safe where options.filter is null.
Proposals propose(const graph::Node& node, const Problem& problem, runtime::Device& device,
                  const BuildOptions& options);

// An option of a problem as it would be proposed.
Proposal proposalOf(const Problem& problem, Option option, const runtime::Device& device);

// Makes the machine code of a proposal, and what its tactic prepares. Thread-safe for different proposals; does nothing
// the second time. A refusal ends in `failure`.
void makeReady(const Problem& problem, Proposal& proposal);

// Runs work(0) .. work(count - 1) on the machine's threads and rethrows what was thrown first.
void inParallel(size_t count, const std::function<void(size_t)>& work);

// The one of each group of options with the same formats that can win, in the order of the formats.
std::vector<size_t> winners(std::span<const Option* const> options);

// Whether one candidate can take the place of another as it is: in its formats, wherever its operands may lie.
bool fitsInPlace(const Candidate& candidate, const Candidate& of);

// Those that can take the winner's place as they are, nearly as fast and measured, best first.
std::vector<size_t> rivalsOf(std::span<const Option* const> options, size_t winner);

// The best measured one in the formats of a winner that calls a vendor's library which calls none; none:
// options.size().
size_t ownWinner(std::span<const Option* const> options, size_t winner);

// The best one in the formats of the winner that lets other operands be pitched than it does; none: options.size().
size_t pitchedWinner(std::span<const Option* const> options, size_t winner);

}  // namespace tenon::compile
