import type { Clock } from '../../src/lib/clock.js'

export type MovableClock = Clock & { advance(milliseconds: number): void }

/** Real time plus however far the test has moved it. */
export const createMovableClock = (): MovableClock => {
  let moved = 0
  return {
    now: () => new Date(Date.now() + moved),
    offset: () => moved,
    advance: (milliseconds) => {
      moved += milliseconds
    },
  }
}
