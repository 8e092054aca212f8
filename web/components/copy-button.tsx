import { useState } from 'preact/hooks'
import { Button } from './button.js'

type Props = { text: string; label: string; copiedLabel: string }

/** After a press, the button and a screen reader say that the text was copied. The focus stays on the button. */
export const CopyButton = ({ text, label, copiedLabel }: Props) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  }
  return (
    <>
      <Button onPress={copy}>{isCopied ? copiedLabel : label}</Button>
      <span class="visually-hidden" role="status">
        {isCopied ? copiedLabel : ''}
      </span>
    </>
  )
}
