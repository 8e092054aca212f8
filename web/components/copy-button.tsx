import { useState } from 'preact/hooks'
import { Button } from './button.js'

type Props = { text: string; label: string; copied: string }

/** Says that it has copied, on the button and to a screen reader, whose focus stays on it. */
export const CopyButton = ({ text, label, copied }: Props) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  }
  return (
    <>
      <Button onPress={copy}>{isCopied ? copied : label}</Button>
      <span class="visually-hidden" role="status">
        {isCopied ? copied : ''}
      </span>
    </>
  )
}
