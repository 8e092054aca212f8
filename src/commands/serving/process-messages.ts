import type { Environment } from '../../config.js'
import { seconds } from '../../lib/durations.js'
import { withTimeout } from '../../lib/with-timeout.js'

/**
 * The messages between the supervisor and its processes. A signal would not do: Ctrl-C in a terminal reaches all of them, and
 * a second one means "stop at once".
 */
export const shutDownMessage = 'shut down'
export const reloadMessage = 'reload'
export const readyMessage = 'ready'
export const settingsQuestion = 'which settings?'
const heardMessage = 'heard'

type Settings = { settings: Environment }
type Failure = { failure: string }

const has = <Name extends string>(message: unknown, name: Name): message is Record<Name, unknown> =>
  typeof message === 'object' && message !== null && name in message
const isSettings = (message: unknown): message is Settings => has(message, 'settings')
export const isFailure = (message: unknown): message is Failure => has(message, 'failure')

const answerTo = <Answer>(question: unknown, isAnswer: (message: unknown) => message is Answer) =>
  new Promise<Answer>((resolve) => {
    const take = (message: unknown) => {
      if (!isAnswer(message)) return
      process.off('message', take)
      resolve(message)
    }
    process.on('message', take)
    process.send?.(question)
  })

/** Settings are read once, by the supervisor: a process that is replaced must not run with other secrets than its siblings. */
export const settingsFromSupervisor = async () => (await answerTo(settingsQuestion, isSettings)).settings

type Sender = { isConnected(): boolean; send(message: object | string, sent: () => void): unknown }
const send = (receiver: Sender, message: object | string) => {
  if (receiver.isConnected()) receiver.send(message, () => undefined)
}
export const sendSettings = (receiver: Sender, settings: Environment) => send(receiver, { settings } satisfies Settings)

/** All processes fail for the same reason, so the supervisor says it once. Resolves when it has heard it. */
export const tellFailure = (failure: string) => {
  const isHeard = (message: unknown): message is string => message === heardMessage
  return withTimeout(
    answerTo({ failure } satisfies Failure, isHeard).then(() => undefined),
    2 * seconds,
    () => undefined,
  )
}
export const confirmFailure = (receiver: Sender) => send(receiver, heardMessage)
