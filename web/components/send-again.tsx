import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.js'
import { useSentences } from '../refusals.js'
import type { Refusal } from '../requests.js'
import { useWords } from '../settings.js'
import { Button } from './button.js'

/** A mail takes a while to arrive, and a new mail makes the link of the first one invalid. */
const pause = 30_000

type Props = { onSent?: () => void; onRefused?: (refusal: Refusal) => void }

/** Sends the confirmation mail again to the address that this browser registered. */
export const SendAgain = ({ onSent, onRefused }: Props) => {
  const words = useWords('common')
  const sentenceFor = useSentences()
  const [state, setState] = useState<'idle' | 'busy' | 'sent'>('idle')
  const [message, setMessage] = useState<string>()

  useEffect(() => {
    if (state !== 'sent') return
    const timer = setTimeout(() => setState('idle'), pause)
    return () => clearTimeout(timer)
  }, [state])

  const press = async () => {
    setState('busy')
    const answer = await api.resendConfirmation()
    setState(answer.ok ? 'sent' : 'idle')
    setMessage(answer.ok ? words.sentAgain : sentenceFor(answer.refusal))
    if (answer.ok) onSent?.()
    else onRefused?.(answer.refusal)
  }

  return (
    <div class="send-again">
      <Button busy={state === 'busy'} disabled={state === 'sent'} onPress={press}>
        {words.sendAgain}
      </Button>
      <p role="status">{message}</p>
    </div>
  )
}
