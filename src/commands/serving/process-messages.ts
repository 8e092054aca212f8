import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/timing.js'
import type { Environment } from '../../settings/config.js'

/**
 * The messages between the supervisor and its processes. They are no signals, because Ctrl-C in a terminal already sends a signal to
 * every process, and a second signal means "stop at once".
 */
export const shutDownMessage = 'shut down'
export const reloadMessage = 'reload'
export const readyMessage = 'ready'
export const settingsQuestion = 'which settings?'
const failureReceivedMessage = 'heard'

/** `ownDatabase`: the supervisor runs the PostgreSQL that the settings name. */
type Settings = { settings: Environment; ownDatabase: boolean }
type Failure = { failure: string }

const hasProperty = <Name extends string>(message: unknown, name: Name): message is Record<Name, unknown> =>
  typeof message === 'object' && message !== null && name in message
const isSettings = (message: unknown): message is Settings => hasProperty(message, 'settings')
export const isFailure = (message: unknown): message is Failure => hasProperty(message, 'failure')

const askSupervisor = <Answer>(question: unknown, isAnswer: (message: unknown) => message is Answer) =>
  new Promise<Answer>((resolve) => {
    const take = (message: unknown) => {
      if (!isAnswer(message)) return
      process.off('message', take)
      resolve(message)
    }
    process.on('message', take)
    process.send?.(question)
  })

/** The supervisor reads the settings once for all processes: one that replaces a crashed process must have the secrets of the others. */
export const settingsFromSupervisor = () => askSupervisor(settingsQuestion, isSettings)

type Channel = { isConnected(): boolean; send(message: object | string, sent: () => void): unknown }
const send = (receiver: Channel, message: object | string) => {
  if (receiver.isConnected()) receiver.send(message, () => undefined)
}
export const sendSettings = (receiver: Channel, settings: Settings) => send(receiver, settings)

/**
 * Tells the supervisor why this process cannot start, and waits until the supervisor has received that, at most two seconds. The
 * supervisor prints the reason once, because all processes have the same reason.
 */
export const tellFailure = (failure: string) => {
  const isReceived = (message: unknown): message is string => message === failureReceivedMessage
  return withTimeout(
    askSupervisor({ failure } satisfies Failure, isReceived).then(() => undefined),
    2 * seconds,
    () => undefined,
  )
}
export const confirmFailure = (receiver: Channel) => send(receiver, failureReceivedMessage)
