import type { RefusalCode } from '../../contract/refusals.js'

/**
 * Rolls back a change by an administrator or a program that may not make it. An exception, because it is
 * found by the event, which every change writes in its transaction: so no change can forget to ask.
 */
export class ActorRefused extends Error {
  override name = 'ActorRefused'

  readonly refused: Extract<RefusalCode, 'not_found' | 'administrators_account'>

  constructor(refused: ActorRefused['refused']) {
    super(`This may not be changed by who asks: ${refused}`)
    this.refused = refused
  }
}
