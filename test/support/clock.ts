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

/** A clock that is wrong, as opposed to one that the test has moved: the service does not know by how much. */
export const createWrongClock = (error: number): MovableClock => {
  const clock = createMovableClock()
  return { ...clock, now: () => new Date(clock.now().getTime() + error) }
}

/** Stands still but for `advance`: for a test that compares whole seconds. */
export const createStoppedClock = (): MovableClock => {
  const stoppedAt = Date.now()
  let moved = 0
  return {
    now: () => new Date(stoppedAt + moved),
    offset: () => moved,
    advance: (milliseconds) => {
      moved += milliseconds
    },
  }
}
