package toolbox

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// A ranking orders texts by how well they fit a query. The measure is BM25
// (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond,
// 2009), with weights for the words of a text.
type ranking struct {
	texts  []rankedText
	within map[string]int // how many texts have a word
	length float64        // the length of all texts together
}

type rankedText struct {
	weights map[string]float64 // the weight of each word
	length  float64
}

// newRanking makes a ranking of n texts; text gives the words of one to add, each
// with its weight.
func newRanking(n int, text func(i int, add func(text string, weight float64))) *ranking {
	r := &ranking{texts: make([]rankedText, n), within: map[string]int{}}
	for i := range r.texts {
		t := &r.texts[i]
		t.weights = map[string]float64{}
		text(i, func(text string, weight float64) {
			for _, word := range searchWords(text) {
				t.weights[word] += weight
				t.length += weight
			}
		})
		for word := range t.weights {
			r.within[word]++
		}
		r.length += t.length
	}
	return r
}

// best are the numbers of the texts that fit the query, the best first.
func (r *ranking) best(query string) (all []int) {
	const saturation, lengthShare = 1.2, 0.75 // k1 and b of the usual form
	n := float64(len(r.texts))
	points := make([]float64, len(r.texts))
	for _, asked := range slices.Compact(slices.Sorted(slices.Values(searchWords(query)))) {
		for word, count := range r.within {
			share := 1.0
			if word != asked {
				if len(asked) < 3 || !strings.HasPrefix(word, asked) {
					continue
				}
				share = 0.5 // repo is found in repository
			}
			rarity := math.Log(1 + (n-float64(count)+0.5)/(float64(count)+0.5))
			for i := range r.texts {
				t := &r.texts[i]
				if f := t.weights[word]; f > 0 {
					points[i] += share * rarity * f * (saturation + 1) / (f + saturation*(1-lengthShare+lengthShare*t.length*n/r.length))
				}
			}
		}
	}
	for i := range points {
		points[i] = math.Round(points[i]*1e6) / 1e6 // sums in any order are the same
		if points[i] > 0 {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(points[b], points[a]) })
	return all
}

// noSubject are the words that tell nothing of what a text is about.
const noSubject = " a an and are as at be by for from in is it of on or that the this to with "

// searchWords are the words of a text in lower case: read_file, readFile and "Reads the
// files" all have the word file. An s at the end does not count.
func searchWords(text string) (all []string) {
	var word []rune
	end := func() {
		w := strings.ToLower(string(word))
		if strings.Contains(noSubject, " "+w+" ") {
			w = ""
		}
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			w = w[:len(w)-1]
		}
		if word = word[:0]; w != "" {
			all = append(all, w)
		}
	}
	for _, c := range text {
		letter := unicode.IsLetter(c) || unicode.IsDigit(c)
		if !letter || unicode.IsUpper(c) && len(word) > 0 && unicode.IsLower(word[len(word)-1]) {
			end()
		}
		if letter {
			word = append(word, c)
		}
	}
	end()
	return all
}
