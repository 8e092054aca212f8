import { isFocusLost, moveFocusTo } from '../browser/focus.js'
import { useWords } from '../hooks/settings.js'
import { Button } from './button.js'

export const TryAgain = ({ onPress }: { onPress: () => Promise<void> }) => {
  const words = useWords('common')
  const press = async () => {
    await onPress()
    // When it worked, the button is gone, and the heading gets the focus.
    requestAnimationFrame(() => isFocusLost() && moveFocusTo(document.querySelector('h1')))
  }
  return <Button onPress={press}>{words.tryAgain}</Button>
}
