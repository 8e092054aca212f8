import { useEffect, useState } from 'preact/hooks'
import { api } from '../api.js'
import { sentenceFor } from '../refusals.js'
import type { Refusal } from '../requests.js'
import { useCommonWords } from '../settings.js'
import { Button } from './button.js'

/** A mail takes a while to arrive; pressing again at once would only make the first one worthless. */
const pause = 30_000

type Props = { onSent?: () => void; onRefused?: (refusal: Refusal) => void }

/** Sends the confirmation mail again to the address that this browser registered. */
export const SendAgain = ({ onSent, onRefused }: Props) => {
  const words = useCommonWords()
  const [state, setState] = useState<'idle' | 'busy' | 'sent'>('idle')
  const [told, setTold] = useState<string>()

  useEffect(() => {
    if (state !== 'sent') return
    const timer = setTimeout(() => setState('idle'), pause)
    return () => clearTimeout(timer)
  }, [state])

  const press = async () => {
    setState('busy')
    const answer = await api.resendConfirmation()
    setState(answer.ok ? 'sent' : 'idle')
    setTold(answer.ok ? words.sentAgain : sentenceFor(answer.refusal, words))
    if (answer.ok) onSent?.()
    else onRefused?.(answer.refusal)
  }

  return (
    <div class="send-again">
      <Button busy={state === 'busy'} disabled={state === 'sent'} onPress={press}>
        {words.sendAgain}
      </Button>
      <p role="status">{told}</p>
    </div>
  )
}
