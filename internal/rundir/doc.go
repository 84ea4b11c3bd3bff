// Package rundir owns the directory a study leaves behind: how it comes to be,
// how an interrupted one is taken up again, and how a finished one is proved
// intact from its files alone.
//
//	DIR/manifest.json         what was asked, of which traces, and every other file
//	DIR/NAME/phases.csv       one directory a trace; two rows a configuration
//	DIR/NAME/instances.csv    two rows a configuration and instance
//	DIR/NAME/relations.csv    two rows a configuration
//	DIR/NAME/fanin.csv        the fan-in distribution behind every instance row
//	DIR/NAME/profile.json     what the trace looks like
//	DIR/NAME/cohorts/…        one file an experiment, where cohorts are kept
//
// It guarantees that
//
//   - DIR is complete or not there. A run is made in DIR.partial, which is
//     renamed when every byte is on the disk. A run that is replaced is
//     DIR.replaced for that moment and removed afterwards.
//   - The bytes depend on the Header and the outcomes alone, not on the order
//     they are committed in, on interruptions, on the clock, host or paths.
//   - A run that is killed loses at most the configurations that were not
//     committed: what DIR.partial holds is believed only as far as its
//     checksums go, and the rest is done again.
//   - Nothing is deleted that is not a run of kvfanin.
//   - A changed byte, row or file of a finished run is found by Verify, and a
//     number edited together with its checksums by an identity it breaks.
//
// It counts nothing itself and knows no terminal. Start with Create and Writer
// for making a run, Open for reading one, Verify for checking one; Manifest is
// the format.
package rundir
