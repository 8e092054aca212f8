import type { RefusalCode } from '../../contract/refusals.js'

/**
 * Rolls back a change by an administrator or a program that may not make it. It is an exception because the check is made where the event
 * of the change is recorded, so that no change can leave the check out.
 */
export class ActorRefused extends Error {
  override name = 'ActorRefused'

  readonly refused: Extract<RefusalCode, 'not_found' | 'administrators_account'>

  constructor(refused: ActorRefused['refused']) {
    super(`The actor may not make this change: ${refused}`)
    this.refused = refused
  }
}
