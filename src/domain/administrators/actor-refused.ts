import type { RefusalCode } from '../../contract/refusals.js'

/**
 * What an administrator or a program was about to change is rolled back, because it is not theirs to change. An exception, because it is
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
