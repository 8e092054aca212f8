import { useEffect, useState } from 'preact/hooks'
import type { Answer, Refusal } from '#client/client.js'
import { timeSpan } from '#contract/time-spans.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'
import { Button } from './button.js'
import { useMessage } from './notice.js'

/** A mail takes a while to arrive, and a new mail makes the link of the first one invalid. */
const pause = 30_000

type Props = {
  send: () => Promise<Answer<unknown>>
  /** The sentence after the mail was sent. */
  sentMessage: string
  onSent?: () => void
  onRefused?: (refusal: Refusal) => void
}

/** Sends a mail again to the same address. */
export const SendAgain = ({ send, sentMessage, onSent, onRefused }: Props) => {
  const words = useWords('common')
  const sentenceOf = useRefusalSentence()
  const { locale } = useSettings()
  const [isSent, setSent] = useState(false)
  const { message, setMessage } = useMessage<string>()

  useEffect(() => {
    if (!isSent) return
    const timer = setTimeout(() => setSent(false), pause)
    return () => clearTimeout(timer)
  }, [isSent])

  const withWait = (refusal: Refusal) =>
    refusal.retryAfter === undefined
      ? sentenceOf(refusal)
      : `${sentenceOf(refusal)} ${fill(words.tryAgainInAbout, { time: timeSpan(1_000 * refusal.retryAfter, locale) })}`

  const press = async () => {
    const answer = await send()
    setSent(!answer.refused)
    setMessage(answer.refused ? withWait(answer) : sentMessage)
    if (answer.refused) onRefused?.(answer)
    else onSent?.()
  }

  return (
    <div class="send-again">
      <Button disabled={isSent} onPress={press}>
        {words.sendAgain}
      </Button>
      <p role="status">{message}</p>
    </div>
  )
}
