// When a candidate has been measured often enough.
#pragma once

namespace tenon::compile {

// Whatever else the machine does only adds time, so the fastest sample counts. Twice `iterations` samples are enough,
// fewer of a candidate that is far behind the best or takes long. Those that other programs have disturbed are not
// counted as samples, up to six times the iterations: with all cores taken by others, nearly all are.
class Samples {
 public:
  // `best`: seconds of the best candidate so far. `first`: seconds that one run of this one took; `counts`: as fast as
  // the samples to come.
  Samples(int iterations, double best, double first, bool counts);

  bool areEnough() const;
  // Of so many runs one after the other.
  void add(double seconds, int runs, bool isDisturbed);
  double fastest() const { return fastest_; }

 private:
  int iterations_;
  double best_;
  double fastest_;
  double spent_;
  int taken_ = 0;
  int disturbed_ = 0;
};

}  // namespace tenon::compile
