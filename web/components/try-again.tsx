import { useState } from 'preact/hooks'
import { isFocusLost, moveFocusTo } from '../browser/focus.js'
import { useWords } from '../hooks/settings.js'
import { Button } from './button.js'

export const TryAgain = ({ onPress }: { onPress: () => Promise<void> }) => {
  const words = useWords('common')
  const [busy, setBusy] = useState(false)
  const press = async () => {
    setBusy(true)
    await onPress()
    setBusy(false)
    // When it worked, the button is gone.
    requestAnimationFrame(() => isFocusLost() && moveFocusTo(document.querySelector('h1')))
  }
  return (
    <Button busy={busy} onPress={press}>
      {words.tryAgain}
    </Button>
  )
}
